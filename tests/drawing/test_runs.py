"""Calls are read from transcripts, the history, conversations and states of runs.

Who decided it: issue 16 (any recorded agent run is drawn).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xai_mcp_agent.core.tools import FUNCTIONS, STATIC
from xai_mcp_agent.drawing.components import our_components
from xai_mcp_agent.drawing.flow import draw
from xai_mcp_agent.drawing.runs import (
    RecordedCall,
    data_of,
    run_in_conversation,
    run_in_state,
    runs_in_history,
    runs_in_transcript,
)
from xai_mcp_agent.drawing.tracing import trace_calls
from xai_mcp_agent.history.event import Event, Subject
from xai_mcp_agent.steps.references import Joined, Number, Reference
from xai_mcp_agent.steps.results import StepResult, fill

FOUND = {"books": [{"id": 14}]}


def line(event: str, run: str = "r", **values: Any) -> dict[str, Any]:
    return {"time": 5.0, "run": run, "agent": "helper", "event": event, **values}


def finished(
    tool: str, source: str = "library", kind: str = "mcp", run: str = "r", **values: Any
) -> dict[str, Any]:
    key = {"kind": kind, "source": "" if source == "canvas" else source, "name": tool}
    shown = {"tool": f"{source}_{tool}", "call_id": "c1", "arguments": {"q": 1}, "text": "ok"}
    return line("ToolFinished", run, source=source, key=key, **{**shown, **values})


def test_each_run_of_a_transcript_has_its_calls_and_the_newest_is_last():
    lines = [
        line("RunStarted", "one", asked="Find it."),
        finished("search", structured=FOUND, run="one"),
        line("RunStarted", "two", asked="And this."),
        finished("get", is_error=True, run="two"),
        line("NodeFinished", "one", node="MCPCallTool", server="units", tool="convert",
             arguments={"value": 5}, text="8 km", is_error=False),
        line("NodeFinished", "one", node="MCPListTools", server="units"),
    ]  # fmt: skip
    two, one = runs_in_transcript(lines)
    assert (one.id, one.question, one.agents) == ("one", "Find it.", ("helper",))
    assert one.calls == (
        RecordedCall("library", "search", {"q": 1}, FOUND, "mcp"),
        RecordedCall("units", "convert", {"value": 5}, "8 km"),
    )
    assert two.calls[0].is_error
    assert runs_in_transcript(lines, "another") == []


def test_a_drawn_tool_that_called_others_is_made_of_those():
    """Calls of the same turn go on beside it, and are none of its own."""
    inner = finished("search")
    inner["agent"] = "librarian"
    lines = [
        line("ToolStarted", source="canvas", tool="ask", call_id="c1"),
        inner,
        finished("convert", "units", call_id="c2"),
        finished("ask", "canvas", "tools"),
        line("ToolStarted", source="canvas", tool="shout", call_id="c3"),
        finished("convert", "units", call_id="c4"),
        finished("shout", "canvas", "tools", call_id="c3"),
    ]
    (run,) = runs_in_transcript(lines)
    assert [(x.name, x.has_inner_calls) for x in run.calls] == [
        ("library/search", False), ("units/convert", False), ("canvas/ask", True),
        ("units/convert", False), ("canvas/shout", False),
    ]  # fmt: skip


def test_a_history_has_a_run_for_each_of_an_agent_and_else_for_each_process():
    def called(kind: Any, source: str, run: str, **payload: Any) -> Event:
        subject = Subject(kind, source, "do")
        return Event(subject, "called", datetime.now(UTC), {"status": "ok", **payload}, run=run)

    second, third, first = runs_in_history(
        [
            called(FUNCTIONS, "shop", "a", arguments={}, result='{"n": 1}'),
            called(STATIC, "", "b"),
            called(FUNCTIONS, "shop", "a", run_id="r1", agent="helper"),
            called(FUNCTIONS, "shop", "a", arguments={"x": 1}, structured={"n": 2}, result="two"),
        ]
    )
    assert [(x.arguments, x.value) for x in first.calls] == [({}, {"n": 1}), ({"x": 1}, {"n": 2})]
    assert (second.calls[0].source, second.calls[0].arguments) == ("canvas", None)
    assert (third.id, third.agents, len(third.calls)) == ("r1", ("helper",), 1)


def test_a_conversation_and_a_state_are_read():
    asked = {"id": "c1", "type": "function",
             "function": {"name": "my_lib_get_book", "arguments": '{"id": 3}'}}  # fmt: skip
    messages: list[Any] = [
        {"role": "user", "content": "Which?"},
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"title": "X"}'},
    ]
    run = run_in_conversation(messages, {}, ["my", "my_lib"])
    call = RecordedCall("my_lib", "get_book", {"id": 3}, {"title": "X"})
    assert (run.question, run.calls) == ("Which?", (call,))
    state = {"start": messages[:1], "additions": messages[1:], "kept": {"c1": '{"title": "Whole"}'},
             "names": [["openapi", "lib", "getBook", "my_lib_get_book"]]}  # fmt: skip
    (call,) = run_in_state(json.loads(json.dumps(state)), []).calls
    assert call == RecordedCall("lib", "getBook", {"id": 3}, {"title": "Whole"}, "openapi")


def test_the_beginning_of_a_result_that_was_cut_is_read():
    whole = json.dumps({"books": [{"id": n, "title": f"Book {n}"} for n in range(400)]})
    data = data_of(f"{whole[:4000]}... ({len(whole)} characters)")
    assert data["books"][50] == {"id": 50, "title": "Book 50"}
    assert data_of("[1, 2") == "[1, 2"
    assert data_of("plain text") == "plain text"


_JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
_KINDS = st.sampled_from(["RunStarted", "ToolStarted", "ToolFinished", "NodeFinished"])
_FIELDS = (
    "run", "agent", "time", "asked", "call_id", "tool", "server", "arguments", "text",
    "structured", "source", "key",
)  # fmt: skip
_LINES = st.fixed_dictionaries(
    {"event": _KINDS, "node": st.just("MCPCallTool")}, optional=dict.fromkeys(_FIELDS, _JSON)
)


@settings(max_examples=40)
@given(st.lists(_LINES, max_size=8), st.fixed_dictionaries({"additions": _JSON, "names": _JSON}))
def test_a_file_of_anything_raises_nothing(lines: list[Any], state: dict[str, Any]):
    """A file may come from anywhere; what it says of tools and values becomes text."""
    for run in [*runs_in_transcript(lines), run_in_state(state, ["it"])]:
        calls, _ = trace_calls(run.calls)
        assert draw("made", calls, our_components()).document()


# Where recorded arguments come from is found by value, and never guessed of what many things are.


def made(value: Any, *, result: Any = None) -> Any:
    """Return the traced argument of a call that comes after one with this result."""
    (name, argument) = value
    calls = [
        RecordedCall("library", "search", {}, result),
        RecordedCall("library", "next", {name: argument}),
    ]
    source = trace_calls(calls)[0][1].arguments[name]
    assert fill(source, [StepResult(result, "library/search")]) == argument
    return source


BOOKS = {"books": [{"id": 14, "title": "Moby-Dick", "isbn": "978-0142"}], "page": 2, "all": True}


TITLE = Reference(0, ("books", 0, "title"))


@pytest.mark.parametrize(
    ("argument", "result", "source"),
    [
        (("isbn", "978-0142"), BOOKS, Reference(0, ("books", 0, "isbn"))),
        (("about", "Moby-Dick"), BOOKS, TITLE),
        (("book_id", 14), BOOKS, Reference(0, ("books", 0, "id"))),
        (("book_id", "14"), BOOKS, Joined((Reference(0, ("books", 0, "id")),))),
        (("id", 14), {"id": "14"}, Number(Reference(0, ("id",)))),
        (("book", BOOKS["books"][0]), BOOKS, Reference(0, ("books", 0))),  # type: ignore[index]
        (("ids", [1, 4711]), {"n": 4711}, [1, Reference(0, ("n",))]),
        (("q", {"of": "978-0142"}), BOOKS, {"of": Reference(0, ("books", 0, "isbn"))}),
        (("title", "On Moby-Dick."), BOOKS, Joined(("On ", TITLE, "."))),
        (("day", "2026-12-01"), "Until 2026-12-01. Bye", Reference(0, after="Until ", before=".")),
        (("loan", 4711), "Loan 4711 was made", Number(Reference(0, after="Loan "))),
        (("text", "all of this text"), "all of this text", Reference(0)),
        (("order_id", 4711), {"seen": 4711, "order_id": 4711}, Reference(0, ("order_id",))),
    ],
)  # fmt: skip
def test_a_value_of_a_result_becomes_a_reference(
    argument: tuple[str, Any], result: Any, source: Any
):
    assert made(argument, result=result) == source


@pytest.mark.parametrize(
    ("argument", "result"),
    [
        (("all", True), BOOKS),
        (("page", 0), {"page": 0}),
        (("count", 1), {"count": 1}),
        (("size", 2), BOOKS),  # another thing's number
        (("unit", "mile"), {"kind": "mile"}),
        (("word", "4711"), "4711 and 4711 again"),
        (("word", "Dick"), BOOKS),
        (("x", None), {"x": None}),
        (("x", ""), {"x": ""}),
    ],
)  # fmt: skip
def test_a_value_that_many_things_could_be_stays_as_it_is(argument: tuple[str, Any], result: Any):
    assert made(argument, result=result) == argument[1]


def test_failed_calls_and_the_agents_own_tools_are_left_out_and_told():
    calls = [
        RecordedCall("", "tool_search", {"query": "x"}, kind="meta"),
        RecordedCall("library", "get", {"id": 99}, "There is none.", is_error=True),
        RecordedCall("library", "search", {}, {"isbn": "978-0142"}),
        RecordedCall("library", "get", {"isbn": "978-0142"}),
    ]
    drawn, left_out = trace_calls(calls)
    assert [x.tool for x in drawn] == ["search", "get"]
    assert drawn[1].arguments == {"isbn": Reference(0, ("isbn",))}
    assert [(x.name, x.why) for x in left_out] == [
        ("tool_search", "it is a tool of the agent itself"),
        ("library/get", "it failed"),
    ]


def test_an_argument_that_was_hidden_cut_or_not_recorded_must_be_given():
    arguments = {"token": "***", "text": "x" * 4000 + "... (9000 characters)", "day": "today"}
    calls = [RecordedCall("mail", "send", arguments), RecordedCall("mail", "send")]
    (first, second), _ = trace_calls(calls)
    assert first.arguments == {"day": "today"}
    assert {"token", "text"} == {*first.missing}
    assert "secret" in first.missing["token"]
    assert "not recorded" in second.note


def test_a_secret_is_taken_from_where_it_came_from_or_must_be_given():
    login = RecordedCall("shop", "login", {"user": "ada", "pin": "geheim"}, {"key": "geheim-2"})
    say = RecordedCall("shop", "say", {"text": "geheim", "inner": [{"geheim": 1}], "n": 5})
    list_ = RecordedCall("shop", "list", {"auth": "Bearer geheim-2"})
    calls, _ = trace_calls([login, say, list_], lambda name, text: "geheim" in text)
    assert [sorted(x.missing) for x in calls] == [["pin"], ["inner", "text"], []]
    assert "geheim" not in repr(calls)
    assert calls[1].arguments == {"n": 5}
