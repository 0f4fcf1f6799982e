"""Calls are read from transcripts, the history, conversations and states of runs.

Who decided it: issue 16 (any recorded agent run is drawn).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xai_mcp_agent.agent.conversation import Conversation
from xai_mcp_agent.agent.results import MAX_RESULT_CHARS, ResultPages
from xai_mcp_agent.agent.run_file import WaitingRun
from xai_mcp_agent.agent.state import RunState
from xai_mcp_agent.core.results import ToolResult
from xai_mcp_agent.core.tools import FUNCTIONS, STATIC, ToolKey
from xai_mcp_agent.drawing.components import our_components
from xai_mcp_agent.drawing.flow import draw
from xai_mcp_agent.drawing.runs import (
    RecordedCall,
    data_of,
    run_in_conversation,
    run_in_state,
    runs_in_history,
    runs_in_transcript,
    state_in,
)
from xai_mcp_agent.drawing.tracing import trace_calls
from xai_mcp_agent.history.event import Event, Subject
from xai_mcp_agent.steps.references import Joined, Number, Reference
from xai_mcp_agent.steps.results import StepResult, fill

BOOK_14 = {"books": [{"id": 14}]}
FUNCTION = {"name": "my_lib_get_book", "arguments": '{"id": 3}'}
TOOL_CALL = {"id": "c1", "type": "function", "function": FUNCTION}


def line(event: str, run: str = "r", **values: Any) -> dict[str, Any]:
    return {"time": 5.0, "run": run, "agent": "helper", "event": event, **values}


def finished(
    tool: str, source: str = "library", kind: str = "mcp", run: str = "r", **values: Any
) -> dict[str, Any]:
    key = {"kind": kind, "source": "" if source == "canvas" else source, "name": tool}
    fields = {"tool": f"{source}_{tool}", "call_id": "c1", "arguments": {"q": 1}, "text": "ok"}
    return line("ToolFinished", run, source=source, key=key, **{**fields, **values})


def test_a_transcript_is_split_into_runs_with_the_newest_last():
    lines = [
        line("RunStarted", "one", asked="Find it."),
        finished("search", structured=BOOK_14, run="one"),
        line("RunStarted", "two", asked="And this."),
        finished("get", is_error=True, run="two"),
        line("NodeFinished", "one", node="MCPCallTool", server="units", tool="convert",
             arguments={"value": 5}, text="8 km", is_error=False),
        line("NodeFinished", "one", node="MCPListTools", server="units"),
    ]  # fmt: skip
    two, one = runs_in_transcript(lines)
    assert (one.id, one.question, one.agents) == ("one", "Find it.", ("helper",))
    assert one.calls == (
        RecordedCall("library", "search", {"q": 1}, BOOK_14, "mcp"),
        RecordedCall("units", "convert", {"value": 5}, "8 km"),
    )
    assert two.calls[0].is_error
    assert runs_in_transcript(lines, "another") == []


def test_the_calls_that_a_drawn_tool_makes_are_its_inner_calls():
    """Other calls of the same turn run beside it and do not count."""
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


def test_a_history_has_runs_of_agents_and_one_run_for_each_other_process():
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


def test_a_run_is_read_from_a_conversation():
    messages: list[Any] = [
        {"role": "user", "content": "Which?"},
        {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"title": "X"}'},
    ]
    run = run_in_conversation(messages, {}, ["my", "my_lib"])
    call = RecordedCall("my_lib", "get_book", {"id": 3}, {"title": "X"})
    assert (run.question, run.calls) == ("Which?", (call,))


def test_a_call_by_execute_tool_is_a_call_of_the_tool_that_it_names():
    def call(name: str, **arguments: Any) -> dict[str, Any]:
        return {"id": name, "function": {"name": name, "arguments": json.dumps(arguments)}}

    planned = [call("plan_tools", request="Lend it."), call("select_tool", request="Lend it.")]
    talk = {"role": "assistant", "tool_calls": planned}
    names = {"lib_lend": ("mcp", "lib", "lend")}
    for name in ("lib_lend", "lib/lend", "lend"):
        talk["tool_calls"] = [*planned, call("execute_tool", tool=name, arguments={"id": 3})]
        traced, omitted = trace_calls(run_in_conversation([talk], names, []).calls)
        assert [(x.name, x.arguments) for x in traced] == [("lib/lend", {"id": 3})]
        assert [x.name for x in omitted] == ["plan_tools", "select_tool"]
    assert run_in_conversation([talk], {}, ["lib"]).calls[-1].tool == "lend"


def test_a_call_without_arguments_in_a_conversation_was_made_with_none():
    by_name = {"id": "c1", "function": {"name": "lib_list", "arguments": ""}}
    arguments = json.dumps({"tool": "lib/list"})
    executed = {"id": "c2", "function": {"name": "execute_tool", "arguments": arguments}}
    talk = {"role": "assistant", "tool_calls": [by_name, executed]}
    calls = run_in_conversation([talk], {}, ["lib"]).calls
    assert [(x.tool, x.arguments) for x in calls] == [("list", {}), ("list", {})]


def test_a_run_is_read_from_the_file_in_which_it_waits(tmp_path: Path):
    """A result that was too long for the model is read whole."""
    book = {"title": "X", "text": "y" * MAX_RESULT_CHARS}
    pages = ResultPages(lambda key: key.name)
    (excerpt,) = pages.show([ToolResult.of_text(json.dumps(book))])
    conversation = Conversation("Which?").with_messages(
        {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": excerpt},
    )
    names = ((ToolKey("openapi", "lib", "getBook"), "my_lib_get_book"),)
    state = RunState(conversation, names=names, long_results=pages.texts)
    file = tmp_path / "run.json"
    WaitingRun(file, "helper", "", state).write()
    call = RecordedCall("lib", "getBook", {"id": 3}, book, "openapi")
    for text in (json.dumps(state.to_json()), file.read_text(encoding="utf-8")):
        recorded = state_in(json.loads(text))
        assert recorded is not None
        run = run_in_state(recorded, [])
        assert (run.question, run.calls) == ("Which?", (call,))
    assert state_in({"run": "r", "event": "RunStarted"}) is None


def test_the_recorded_beginning_of_a_long_result_is_read_as_data():
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

_CONVERSATIONS = st.fixed_dictionaries({"start": _JSON, "additions": _JSON})
_STATES = st.fixed_dictionaries(
    {"conversation": _CONVERSATIONS | _JSON, "names": _JSON, "long_results": _JSON}
)


@settings(max_examples=40)
@given(st.lists(_LINES, max_size=8), _STATES)
def test_no_file_raises_an_error_whatever_is_in_it(lines: list[Any], state: dict[str, Any]):
    """A file may come from anywhere; its odd tools and values become text."""
    for run in [*runs_in_transcript(lines), run_in_state(state, ["it"])]:
        calls, _ = trace_calls(run.calls)
        assert draw("anything", calls, our_components()).document()


# Arguments are traced by value, and ambiguous values are not.


def trace(name: str, argument: Any, result: Any) -> Any:
    """Return the traced argument of a call that comes after one with this result."""
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
)
def test_a_value_of_a_result_becomes_a_reference(
    argument: tuple[str, Any], result: Any, source: Any
):
    assert trace(*argument, result) == source


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
)
def test_an_ambiguous_value_stays_as_it_is(argument: tuple[str, Any], result: Any):
    assert trace(*argument, result) == argument[1]


def test_failed_calls_and_the_agents_own_tools_are_omitted_with_a_reason():
    calls = [
        RecordedCall("", "tool_search", {"query": "x"}, kind="meta"),
        RecordedCall("library", "get", {"id": 99}, "There is none.", is_error=True),
        RecordedCall("library", "search", {}, {"isbn": "978-0142"}),
        RecordedCall("library", "get", {"isbn": "978-0142"}),
    ]
    traced, omitted = trace_calls(calls)
    assert [x.tool for x in traced] == ["search", "get"]
    assert traced[1].arguments == {"isbn": Reference(0, ("isbn",))}
    assert [(x.name, x.why) for x in omitted] == [
        ("tool_search", "it is a tool of the agent itself"),
        ("library/get", "it failed"),
    ]


def test_a_masked_shortened_or_unrecorded_argument_is_missing():
    arguments = {"token": "***", "text": "x" * 4000 + "... (9000 characters)", "day": "today"}
    calls = [RecordedCall("mail", "send", arguments), RecordedCall("mail", "send")]
    (first, second), _ = trace_calls(calls)
    assert first.arguments == {"day": "today"}
    assert {"token", "text"} == {*first.missing}
    assert "secret" in first.missing["token"]
    assert "not recorded" in second.note


def test_a_secret_is_a_reference_to_an_earlier_result_or_is_missing():
    login = RecordedCall("shop", "login", {"user": "ada", "pin": "geheim"}, {"key": "geheim-2"})
    say = RecordedCall("shop", "say", {"text": "geheim", "inner": [{"geheim": 1}], "n": 5})
    list_ = RecordedCall("shop", "list", {"auth": "Bearer geheim-2"})
    calls, _ = trace_calls([login, say, list_], lambda name, text: "geheim" in text)
    assert [sorted(x.missing) for x in calls] == [["pin"], ["inner", "text"], []]
    assert "geheim" not in repr(calls)
    assert calls[1].arguments == {"n": 5}
