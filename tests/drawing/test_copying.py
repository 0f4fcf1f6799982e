"""Tools that were drawn come along into a drawn run, whole, or it is told why they cannot.

Who decided it: us; a run with a drawn tool is replayed only with that tool's nodes.
"""

from __future__ import annotations

import pytest

from tests.support.canvas_file import problems
from tools.example_agents import two_servers_and_a_drawn_tool
from tools.workflows import Workflow
from xai_mcp_agent.drawing.components import our_components
from xai_mcp_agent.drawing.copying import CannotCopy, with_drawn_tools
from xai_mcp_agent.drawing.flow import DrawnCall, draw
from xai_mcp_agent.drawing.rules import Document, nodes_of

POSTER = DrawnCall("canvas", "make_poster", {"title": "Candide"})


def drawn() -> Document:
    return draw("made", [POSTER], our_components()).document()


def test_the_nodes_of_a_tool_come_along_below_and_keep_the_rules() -> None:
    before = drawn()
    copied = with_drawn_tools(before, two_servers_and_a_drawn_tool().document(), ["make_poster"])
    added = [x for x in nodes_of(copied) if x["id"] not in {y["id"] for y in nodes_of(before)}]
    assert {"AgentDefineTool", "FormatString", "AgentToolOutput"} <= {x["name"] for x in added}
    assert "AgentRun" not in {x["name"] for x in added}
    assert min(x["y"] for x in added) > max(x["y"] for x in nodes_of(before))
    assert problems(copied, "made") == []
    assert before == drawn(), "the one that was given is left as it is"


def test_a_tool_that_is_not_drawn_there_is_told_with_those_that_are() -> None:
    other = two_servers_and_a_drawn_tool().document()
    with pytest.raises(CannotCopy, match="The tool sing is not drawn there; it has: make_poster"):
        with_drawn_tools(drawn(), other, ["sing"])


def test_a_tool_that_uses_nodes_of_the_main_flow_is_told() -> None:
    flow = Workflow("other")
    text = flow.node("ConcatStrings", parts=["a"])
    flow.main(text)
    tool = flow.node("AgentDefineTool", tool_name="make_poster", description="Makes one.")
    flow.side(tool, flow.node("AgentToolOutput", results=[text["out"]]))
    with pytest.raises(CannotCopy, match="uses what ConcatStrings gives"):
        with_drawn_tools(drawn(), flow.document(), ["make_poster"])
