"""A tool that a real server renames: the events of both say so, as a guess."""

from __future__ import annotations

from pathlib import Path

from tests.support.bridges import bridge_with, wait_for_tool
from tests.support.histories import events_of
from tests.support.living_server import SET_TOOLS, OverStdio, tool
from xai_mcp_agent import Bridge, JsonObject

PAIR: JsonObject = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}}
ADD, PLUS = tool("add", inputSchema=PAIR), tool("plus", inputSchema=PAIR)


def reasons(bridge: Bridge, change: str) -> dict[str | None, str]:
    """Why tools were changed so, by their names."""
    found = [x for x in events_of(bridge) if x.change == change and x.subject.tool]
    return {x.subject.tool: x.reason for x in found}


def test_a_tool_that_is_renamed_is_reported_under_both_names(tmp_path: Path):
    """The issue: a removed and an added tool with equal schemas are a likely rename."""
    peer = OverStdio(tmp_path, "modern")
    peer.offer(ADD, tool("other"))
    with bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        offered = [PLUS, tool("strange"), SET_TOOLS]
        bridge.call_tool("it", "set_tools", {"tools": offered, "only": True})
        wait_for_tool(bridge, "it", "plus")
        assert reasons(bridge, "unavailable") == {
            "add": "It is not listed any more; probably renamed to plus.",
            "other": "It is not listed any more.",
        }
        assert reasons(bridge, "discovered") == {
            "add": "",
            "other": "",
            "set_tools": "",
            "plus": "Probably renamed from add.",
            "strange": "",
        }
