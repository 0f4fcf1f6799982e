"""Calls become a workflow that the canvas opens, in rows, with what is missing left open.

Who decided it: issue 16, a plan is a canvas.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.canvas_file import links_of, load, nodes_of
from tests.support.layout_faults import faults
from tests.support.scripts import compile_workflow
from xai_mcp_agent.drawing.components import our_components
from xai_mcp_agent.drawing.flow import DrawnCall, draw
from xai_mcp_agent.drawing.layout import READABLE, VIEW_WIDTH
from xai_mcp_agent.drawing.workflow import Workflow
from xai_mcp_agent.steps.reading import read_step
from xai_mcp_agent.steps.references import Reference, Step, step_text

SEARCH = DrawnCall("library", "search_books", {"query": "sea"})
GET = DrawnCall("library", "get_book", {"book_id": Reference(0, ("books", 0, "id"))})
HOSTILE = "<img src=x onerror=alert(1)> & `code`"


def drawn(*calls: DrawnCall, name: str = "made") -> Workflow:
    return draw(name, calls, our_components())


def steps_in(flow: Workflow) -> list[str]:
    return [
        x["ports"][0]["label"] for x in nodes_of(flow.document()) if x["name"] == "Literal String"
    ]


def test_each_call_is_a_node_with_its_text_and_a_wire_for_what_it_uses() -> None:
    flow = drawn(SEARCH, GET)
    names = [x["name"] for x in nodes_of(flow.document())]
    assert names.count("MCPToolStep") == names.count("Literal String") == 2
    assert len(names) == 6, "and Start and Finish"
    assert read_step(steps_in(flow)[1]).arguments == GET.arguments
    wires = [x for x in flow.links if x.source_port.label == "result"]
    assert [(x.source_port.label, x.target_port.label) for x in wires] == [("result", "results")]


def test_wires_are_counted_where_they_arrive() -> None:
    """Of two results the third step uses only the second: its first wire."""
    use = DrawnCall("library", "get_book", {"book_id": Reference(1, ("id",))})
    assert "book_id = results[0].id" in steps_in(drawn(SEARCH, SEARCH, use))[2]


def test_what_is_missing_is_a_literal_to_fill_in_with_a_note() -> None:
    flow = drawn(DrawnCall("mail", "send", {"to": "Ada"}, {"text": f"Because {HOSTILE}."}))
    nodes = {x["name"]: x for x in nodes_of(flow.document())}
    literal, step = steps_in(flow)
    assert literal == "(write the value here)"
    assert "text = results[0]" in step
    note = nodes["You must give"]["extras"]["commentInput"]
    assert note.startswith("text: Because")
    assert "<" not in note
    assert "`" not in note
    assert "&lt;img" in note


def test_a_call_that_uses_a_later_result_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Call 1, library/get_book, uses .* before it"):
        drawn(GET)


@st.composite
def plans(draw_: st.DrawFn) -> list[DrawnCall]:
    calls: list[DrawnCall] = []
    for number in range(draw_(st.integers(1, 14))):
        used = draw_(st.lists(st.integers(0, number - 1), max_size=3)) if number else []
        arguments: dict[str, Any] = {f"a{n}": Reference(x, ("id",)) for n, x in enumerate(used)}
        arguments |= {"text": draw_(st.text("ab \n", max_size=300))}
        missing = draw_(st.dictionaries(st.sampled_from("xyz"), st.text(max_size=200), max_size=2))
        calls.append(DrawnCall("it", "do" * draw_(st.integers(1, 9)), arguments, missing))
    return calls


@settings(max_examples=60)
@given(plans())
def test_nothing_covers_anything_however_many_calls_there_are(calls: list[DrawnCall]) -> None:
    flow = drawn(*calls)
    layout = flow.layout()
    assert faults(flow) == []
    zoom = layout.view().zoom / 100
    assert zoom >= READABLE
    assert zoom * max(x.right for x in layout.boxes.values()) <= VIEW_WIDTH


def test_a_long_text_is_in_the_port_and_not_beside_the_node() -> None:
    flow = drawn(DrawnCall("mail", "send", {"text": "word " * 400}))
    (literal,) = [x for x in nodes_of(flow.document()) if x["name"] == "Literal String"]
    assert literal["extras"]["attached"] is True


def test_what_is_drawn_compiles_and_is_the_same_each_time(tmp_path: Path) -> None:
    odd = DrawnCall(
        "lib/rary", 'a "tool"', {"odd name": "\u2605 \u25b6 \\n \"x\" {y} '''", "n": 1.5}
    )
    file = drawn(SEARCH, GET, odd).write(tmp_path)
    assert load(file) == drawn(SEARCH, GET, odd).document()
    script = compile_workflow(file).read_text(encoding="utf-8")
    compile(script, "made.py", "exec")
    assert links_of(load(file))


_HOSTILE_TEXTS = (
    "'''", '"""', "\\", "a\r\nb\r", "\0", "\ud800", "\u2028x\x85\x0b", "{}{x}%s{{", "\u202e\u200b",
    '" + results[0] + "', "number(results[0])", "class", "\x1b[31m", "\\N{DASH}", "\\x41", "`",
    "trailing\\",
    "__import__('os').system('true')", "\u2605 \u25b6",
)  # fmt: skip


def test_no_text_of_a_call_becomes_anything_else_in_the_script(tmp_path: Path) -> None:
    calls = [
        call
        for text in _HOSTILE_TEXTS
        for call in (
            DrawnCall("src", "tool", {"v": text, "n": [text, {text: text}], text: 1}),
            DrawnCall(text, "tool", {"a": 1}),
            DrawnCall("src", text, {"a": 1}),
            DrawnCall("src", f"a{text}b", {"a": 1}),
        )
    ]
    script = compile_workflow(drawn(*calls).write(tmp_path)).read_text(encoding="utf-8")
    said = {x.value for x in ast.walk(ast.parse(script)) if isinstance(x, ast.Constant)}
    for call in calls:
        written = step_text(Step(call.source, call.tool, call.arguments))
        assert written in said
        read = read_step(written)
        assert (read.source, read.tool, read.arguments) == (call.source, call.tool, call.arguments)
