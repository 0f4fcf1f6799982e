"""Where recorded arguments come from is found by value, and never guessed of what many things are.

Who decided it: issue 16, a plan is a canvas; the data of tau-bench was traced the same way.
"""

from __future__ import annotations

from typing import Any

import pytest

from xai_mcp_agent.drawing.recorded import RecordedCall
from xai_mcp_agent.drawing.tracing import traced
from xai_mcp_agent.steps.references import Joined, Number, Reference
from xai_mcp_agent.steps.results import StepResult, fill


def made(value: Any, *, result: Any = None) -> Any:
    """What becomes of an argument `book_id` or the like, after a call with this result."""
    (name, argument) = value
    calls = [
        RecordedCall("library", "search", {}, result),
        RecordedCall("library", "next", {name: argument}),
    ]
    source = traced(calls)[0][1].arguments[name]
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
def test_what_many_things_could_be_stays_as_it_is(argument: tuple[str, Any], result: Any):
    assert made(argument, result=result) == argument[1]


def test_failed_calls_and_the_agents_own_tools_are_left_out_and_told():
    calls = [
        RecordedCall("", "tool_search", {"query": "x"}, kind="meta"),
        RecordedCall("library", "get", {"id": 99}, "There is none.", is_error=True),
        RecordedCall("library", "search", {}, {"isbn": "978-0142"}),
        RecordedCall("library", "get", {"isbn": "978-0142"}),
    ]
    drawn, left_out = traced(calls)
    assert [x.tool for x in drawn] == ["search", "get"]
    assert drawn[1].arguments == {"isbn": Reference(0, ("isbn",))}
    assert [(x.name, x.why) for x in left_out] == [
        ("tool_search", "it is a tool of the agent itself"),
        ("library/get", "it failed"),
    ]


def test_what_was_hidden_cut_or_not_recorded_must_be_given():
    arguments = {"token": "***", "text": "x" * 4000 + "... (9000 characters)", "day": "today"}
    calls = [RecordedCall("mail", "send", arguments), RecordedCall("mail", "send")]
    (first, second), _ = traced(calls)
    assert first.arguments == {"day": "today"}
    assert {"token", "text"} == {*first.missing}
    assert "secret" in first.missing["token"]
    assert "not recorded" in second.note


def test_a_secret_is_taken_from_where_it_came_from_or_must_be_given():
    login = RecordedCall("shop", "login", {"user": "ada", "pin": "geheim"}, {"key": "geheim-2"})
    say = RecordedCall("shop", "say", {"text": "geheim", "inner": [{"geheim": 1}], "n": 5})
    list_ = RecordedCall("shop", "list", {"auth": "Bearer geheim-2"})
    calls, _ = traced([login, say, list_], lambda name, text: "geheim" in text)
    assert [sorted(x.missing) for x in calls] == [["pin"], ["inner", "text"], []]
    assert "geheim" not in repr(calls)
    assert calls[1].arguments == {"n": 5}
