"""Careful plans: for who makes the calls of a conversation without asking anybody."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from tests.planning.shop import NUMBER, TEXT, tool
from xai_mcp_agent.planning import (
    FromResult,
    Given,
    Missing,
    Planner,
    Situation,
)
from xai_mcp_agent.planning.plan import EARLIER

THURSDAY = Situation(date(2026, 3, 12))
PLANNER = Planner(
    [
        tool("current_time", "Tell the current time in a time zone.", {"timezone": TEXT}),
        tool("weekday_of", "Tell the weekday of a date.", {"date": TEXT}),
        tool("search_books", "Search books by words in the title.", {"query": TEXT},
             {"books": {"type": "array", "items": {"type": "object", "properties": {
                 "book_id": NUMBER, "title": TEXT}}}}),
        tool("borrow_book", "Borrow a book.", {"book_id": NUMBER}),
        tool("delete_ticket", "Delete a ticket.", {"ticket_id": NUMBER}),
        tool("multiply", "Multiply two numbers.", {"a": NUMBER, "b": NUMBER}),
    ]
)  # fmt: skip


def names(request: str, situation: Situation = THURSDAY) -> list[str]:
    return [x.name for x in PLANNER.plan(request, situation).calls]


@pytest.mark.parametrize(
    "request_text", ["Show ticket 7", "Hello there", "8", "The deleted tickets are gone."]
)
def test_what_is_not_surely_asked_for_is_not_planned(request_text: str) -> None:
    assert names(request_text) == []


def test_what_no_tool_serves_is_told_in_the_words_of_the_request() -> None:
    plan = PLANNER.plan("Paint the fence.", THURSDAY)
    assert [x.said for x in plan.unmatched] == ["Paint the fence."]


def test_several_values_are_several_calls() -> None:
    plan = PLANNER.plan("What time is it in Tokyo and Rome?", THURSDAY)
    assert [x.arguments for x in plan.calls] == [
        {"timezone": Given("Asia/Tokyo")}, {"timezone": Given("Europe/Rome")},
    ]  # fmt: skip


def test_the_day_of_the_conversation_says_when_tomorrow_is() -> None:
    (call,) = PLANNER.plan("Which weekday is tomorrow?", THURSDAY).calls
    assert call.arguments == {"date": Given("2026-03-13")}


def test_a_thing_that_is_only_named_is_looked_up_first() -> None:
    search, borrow = PLANNER.plan("Borrow Dracula.", THURSDAY).calls
    assert (search.name, borrow.name) == ("search_books", "borrow_book")
    assert search.arguments == {"query": Given("Dracula")}
    assert borrow.arguments == {"book_id": FromResult(0, named="Dracula")}
    assert borrow.after == 1


def test_it_is_the_result_before_and_that_of_an_earlier_request() -> None:
    plan = PLANNER.plan("Multiply 3 by 4, then multiply it by 5.", THURSDAY)
    assert FromResult(0, said="it") in plan.calls[1].arguments.values()
    assert [(x.producer, x.consumer) for x in plan.edges] == [(0, 1)]
    plan = PLANNER.plan("Multiply it by 5.", replace(THURSDAY, has_results=True))
    assert FromResult(EARLIER, said="it") in plan.calls[0].arguments.values()
    assert plan.edges == ()


def test_what_nobody_says_is_missing() -> None:
    plan = PLANNER.plan("Borrow a book.", THURSDAY)
    assert isinstance(plan.calls[0].arguments["book_id"], Missing)
    assert plan.problems == ("Call 1, borrow_book: you must give 'book_id'.",)


def test_a_bare_value_asks_again_for_what_only_reads() -> None:
    """ "8" after "delete ticket 7" may mean anything."""
    again = replace(THURSDAY, last_tool="shop/current_time")
    assert names("And in Paris?", again) == ["current_time"]
    assert names("And 8?", replace(THURSDAY, last_tool="shop/delete_ticket")) == []


def test_a_tool_that_changes_is_seen_by_the_next_careful_plan() -> None:
    planner = Planner([tool("delete_ticket", "Delete a ticket.", {"ticket_id": NUMBER})])
    assert not planner.plan("Show ticket 7", THURSDAY).calls
    planner.update(tool("show_ticket", "Show a ticket.", {"ticket_id": NUMBER}))
    (call,) = planner.plan("Show ticket 7", THURSDAY).calls
    assert (call.name, call.arguments) == ("show_ticket", {"ticket_id": Given(7)})
    planner.remove("shop/show_ticket")
    assert not planner.plan("Show ticket 7", THURSDAY).calls


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("asked", "called"),
    [
        ("Convert 5 miles to kilometres", "miles_to_kilometres"),
        ("Convert 5 kilometres to miles", "kilometres_to_miles"),
        ("How many miles are 5 kilometres?", "kilometres_to_miles"),
        ("How many kilometres are 5 miles?", "miles_to_kilometres"),
        ("What is 12.5 miles in kilometres?", "miles_to_kilometres"),
    ],
)
def test_a_conversion_goes_the_way_that_was_asked_for(asked: str, called: str, order: int) -> None:
    tools = [
        tool(
            "kilometres_to_miles", "Convert a length from kilometres to miles.", {"value": NUMBER}
        ),
        tool(
            "miles_to_kilometres", "Convert a length from miles to kilometres.", {"value": NUMBER}
        ),
    ][::order]
    plan = Planner(tools).plan(asked, THURSDAY)
    assert [x.name for x in plan.calls] == [called]
