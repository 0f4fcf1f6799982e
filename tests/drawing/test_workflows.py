"""Calls and plans become workflows that the canvas opens and Xircuits compiles.

Who decided it: issue 16, a plan is a canvas.
"""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.drawing import measure, read
from tests.support.canvas_file import load, nodes_of, problems
from tests.support.layout_faults import faults
from tests.support.old_workflows.wear import loose
from tests.support.scripts import compile_workflow
from tools.example_agents import two_servers_and_a_drawn_tool
from xai_mcp_agent.drawing import draw_plan
from xai_mcp_agent.drawing.components import (
    ComponentClass,
    PortSpec,
    our_components,
    read_component_file,
)
from xai_mcp_agent.drawing.copying import CannotCopy, with_drawn_tools
from xai_mcp_agent.drawing.flow import CallToDraw, draw
from xai_mcp_agent.drawing.layout import READABLE, VIEW_WIDTH
from xai_mcp_agent.drawing.reading import calls_in, calls_in_file
from xai_mcp_agent.drawing.workflow import Workflow, WorkflowError
from xai_mcp_agent.steps.reading import read_step
from xai_mcp_agent.steps.references import VALUE_PLACEHOLDER, Reference, Step, step_text

SEARCH = CallToDraw("library", "search_books", {"query": "sea"})
GET = CallToDraw("library", "get_book", {"book_id": Reference(1, ("books", 0, "id"))})
HOSTILE = "<img src=x onerror=alert(1)> & `code`"
# Texts that could end a text, a line or a script, or that the compiler changes.
ODD = (
    "'''", '"""', "\\", "a\r\nb\r", "\0", "\ud800", "\u2028x\x85\x0b", "{}{x}%s{{", "\u202e\u200b",
    '" + results[0] + "', "number(results[0])", "class", "\x1b[31m", "\\N{DASH}", "\\x41", "`",
    "trailing\\", "__import__('os').system('true')", "\u2605 \u25b6",
)  # fmt: skip


def draw_calls(*calls: CallToDraw) -> Workflow:
    return draw("calls", calls, our_components())


def texts_in(flow: Workflow) -> list[str]:
    nodes = nodes_of(flow.document())
    return [x["ports"][0]["label"] for x in nodes if x["name"] == "Literal String"]


def test_each_call_is_a_node_with_its_text_and_a_wire_for_each_result_it_uses():
    """A step numbers its own wires: the third uses only the second result."""
    flow = draw_calls(SEARCH, SEARCH, GET)
    assert texts_in(flow)[2] == "library/get_book\nbook_id = results[0].books[0].id"
    wires = [(x.source, x.target) for x in flow.links if x.source_port.label == "result"]
    steps = [x for x in flow.nodes if x.name == "MCPToolStep"]
    assert wires == [(steps[1], steps[2])]
    with pytest.raises(ValueError, match=r"Call 2, library/get_book, uses .* before it"):
        draw_calls(SEARCH, GET)


def test_a_missing_argument_is_a_literal_to_fill_in_with_a_note():
    flow = draw_calls(CallToDraw("mail", "send", {"to": "Ada"}, {"text": f"Because {HOSTILE}."}))
    literal, step = texts_in(flow)
    assert (literal, read_step(step).arguments["text"]) == (VALUE_PLACEHOLDER, Reference(0))
    (note,) = (x.extras["commentInput"] for x in flow.nodes if x.name == "You must give")
    assert note.startswith("text: Because &lt;img")
    assert not {"<", "`"} & {*note}


@st.composite
def some_calls(draw_: st.DrawFn) -> list[CallToDraw]:
    calls: list[CallToDraw] = []
    for number in range(draw_(st.integers(1, 14))):
        producers = draw_(st.lists(st.integers(0, number - 1), max_size=3)) if number else []
        arguments: dict[str, Any] = {
            f"a{n}": Reference(x, ("id",)) for n, x in enumerate(producers)
        }
        arguments |= {"text": draw_(st.text("ab \n", max_size=300))}
        missing = draw_(st.dictionaries(st.sampled_from("xyz"), st.text(max_size=200), max_size=2))
        calls.append(CallToDraw("it", "do" * draw_(st.integers(1, 9)), arguments, missing))
    return calls


@settings(max_examples=20)
@given(some_calls())
def test_no_node_covers_another_however_many_calls_there_are(calls: list[CallToDraw]):
    flow = draw_calls(*calls)
    layout = flow.layout()
    assert faults(flow) == []
    zoom = layout.view().zoom / 100
    assert zoom >= READABLE
    assert zoom * max(x.right for x in layout.boxes.values()) <= VIEW_WIDTH
    assert problems(flow.document(), "calls") == []


def test_every_text_of_a_call_is_the_same_in_the_script(tmp_path: Path):
    calls = [
        call
        for x in ODD
        for call in (
            CallToDraw("src", "tool", {"v": x, "n": [x, {x: x}], x: 1}),
            CallToDraw(x, f"a{x}b", {"a": 1}),
            CallToDraw("src", x),
        )
    ]
    file = draw_calls(*calls).write(tmp_path)
    assert load(file) == draw_calls(*calls).document(), "the same each time"
    script = ast.parse(compile_workflow(file).read_text(encoding="utf-8"))
    constants = {x.value for x in ast.walk(script) if isinstance(x, ast.Constant)}
    for call in calls:
        step = Step(call.source, call.tool, call.arguments)
        assert step_text(step) in constants
        assert read_step(step_text(step)) == step


def test_python_draws_a_plan_and_never_replaces_a_file(tmp_path: Path):
    args = {"a": {"call": 0, "field": "x"}, "b": {"missing": "Ask Ada."}}
    calls: list[dict[str, Any]] = [{"tool": "it/x", "args": {}}, {"tool": "it/y", "args": args}]
    file = draw_plan({"request": "Do it.", "calls": calls}, tmp_path / "mine")
    names = [x["name"] for x in nodes_of(load(file))]
    assert (names.count("MCPToolStep"), names.count("Literal String")) == (2, 3)
    assert problems(load(file), "mine") == []
    with pytest.raises(FileExistsError):
        draw_plan({"request": "Do it.", "calls": calls}, file)
    with pytest.raises(WorkflowError, match="'two words' cannot be a Python class"):
        draw_plan({"request": "Do it.", "calls": calls}, tmp_path / "two words")
    assert [*tmp_path.iterdir()] == [file]


def test_the_nodes_of_a_drawn_tool_are_copied_below_the_others():
    before = draw_calls(CallToDraw("canvas", "make_poster", {"title": "Candide"})).document()
    other = two_servers_and_a_drawn_tool().document()
    copied = with_drawn_tools(before, other, ["make_poster"])
    added = [x for x in nodes_of(copied) if x not in nodes_of(before)]
    names = {x["name"] for x in added}
    assert {"AgentDefineTool", "FormatString", "AgentToolOutput"} <= names
    assert "AgentRun" not in names
    assert min(x["y"] for x in added) > max(x["y"] for x in nodes_of(before))
    assert problems(copied, "calls") == []
    with pytest.raises(CannotCopy, match="The tool sing is not drawn there; it has: make_poster"):
        with_drawn_tools(before, other, ["sing"])


def test_a_wire_that_lost_its_node_is_passed_over(tmp_path: Path):
    """The canvas leaves such wires in a file when a node is removed."""
    document = draw_calls(SEARCH, SEARCH, GET).document()
    whole = calls_in(document)
    loose(document)
    file = tmp_path / "calls.xircuits"
    file.write_text(json.dumps(document), encoding="utf-8")
    assert calls_in_file(file) == whole


# Component files are read as the palette reads them, without an import.


SOURCE = '''
import no_such_module
from xai_components.base import BaseComponent, Component, InArg, InCompArg, OutArg, xai_component

class Helper:
    text: InArg[str]

@xai_component(type="branch", color="red")
class Judge(Component):
    """Judges.

    At length.
    """

    on_doubt: BaseComponent
    case: InCompArg[str]
    strict: InArg[bool]
    either: InArg[Union[int, str]]
    verdict: OutArg[dict]
    count: int = 3

@xai_component
class Plain(Component):
    pass
'''


def test_a_class_is_read_with_the_canvas_names_of_its_port_types(tmp_path: Path):
    file = tmp_path / "court_components.py"
    file.write_text(SOURCE, encoding="utf-8")
    judge, plain = read_component_file(file, "xai_court")
    assert judge == ComponentClass(
        "Judge", "xai_components/xai_court/court_components.py", "branch", "red",
        "Judges.\n\nAt length.", (9, 20),
        (
            PortSpec("on_doubt", "branch"), PortSpec("case", "compulsory", "string"),
            PortSpec("strict", "in", "boolean"), PortSpec("either", "in", "Union[int, string]"),
            PortSpec("verdict", "out", "dict"),
        ),
    )  # fmt: skip
    assert (plain.type, plain.description, plain.ports) == ("library_component", "", ())


def test_the_error_about_a_missing_port_lists_the_existing_ones():
    with pytest.raises(KeyError, match=r"AgentRun has no port 'metadatum'.*metadata"):
        our_components()["AgentRun"].port("metadatum")


# Plans of five public sets are drawn and compiled by Xircuits, and make exactly their calls.


_DATA = os.environ.get("XAI_PLANNING_DATA") or Path(__file__).parents[1] / "data" / "planning"
_NODES_A_CALL = 2.2


def test_a_drawn_plan_makes_the_same_calls_with_few_nodes():
    """All plans in one process, against one server."""
    sets = sorted(Path(_DATA).glob("*/plans.jsonl"))
    assert len(sets) >= 5
    figures = measure("all", [plan for file in sets for plan in read(file)])
    assert figures.problems == []
    assert figures.correct == figures.plans > 0
    assert figures.nodes <= _NODES_A_CALL * figures.calls
