"""Events as a person reads them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from xai_mcp_agent import Event, Subject
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.event import Change
from xai_mcp_agent.views.history import NOTHING, events_text

NOON = datetime(2026, 11, 20, 12).astimezone()


def event(change: Change, tool: str | None = None, seconds: float = 0, **more: Any) -> Event:
    """Something that happened to the server `web` so long after noon."""
    time = NOON + timedelta(seconds=seconds)
    reason = more.pop("reason", "")
    return Event(Subject(MCP, "web", tool), change, time, more, reason=reason)


def test_nothing_is_said_of_an_empty_history():
    assert events_text([], 80) == NOTHING


def test_each_line_says_when_what_and_why_below_its_day():
    shown = events_text(
        [
            event("connected", server_name="Web 1.2", transport="stdio", tool_count=1),
            event("discovered", "search"),
            event("unavailable", "search", 5, reason="It is not listed any more."),
            event("disconnected", None, 86_400, reason="exit code 1"),
        ],
        80,
    )
    assert shown.splitlines() == [
        "2026-11-20, Friday",
        "12:00:00  web: connected for the first time over stdio (Web 1.2), 1 tool",
        "12:00:00  web.search: new",
        "12:00:05  web.search: not available: It is not listed any more.",
        "2026-11-21, Saturday",
        "12:00:00  web: disconnected: exit code 1",
    ]


def test_tools_with_the_same_fate_are_told_in_one_line():
    shown = events_text([event("discovered", f"t{n}") for n in range(10_000)], 80)
    assert shown.splitlines()[1:] == [
        "12:00:00  web: 10,000 tools new (t0, t1, t2, t3, t4, t5 and 9,994 more)"
    ]


def test_calls_of_a_tool_one_after_the_other_are_summed_up():
    calls = [event("called", "search", n, seconds_taken=0) for n in range(3)]
    for number, call in enumerate(calls):
        call.payload["seconds"] = 0.1 * (number + 1)
    calls[1].payload["error"] = "too   many\nrequests"
    assert events_text(calls, 80).splitlines()[1:] == [
        "12:00:00  web.search: called 3 times until 12:00:02, 200 ms each, 300 ms at",
        "            most; 1 failed, the last: too many requests",
    ]
    assert events_text(calls[1:2], 80).splitlines()[1:] == [
        "12:00:01  web.search: failed after 200 ms: too many requests"
    ]


def test_many_calls_of_tools_in_turn_are_summed_up_by_tool():
    few = [event("called", f"t{n % 2}", n) for n in range(12)]
    many = [event("called", f"t{n % 2}", n) for n in range(13)]
    assert len(events_text(few, 80).splitlines()) == 1 + 12
    assert len(events_text(many, 80).splitlines()) == 1 + 2


def test_what_strangers_wrote_neither_moves_the_cursor_nor_fills_the_screen():
    bad = event("unavailable", "\x1b[2Ja", reason="\x1b]0;x\x07" + "word " * 100_000)
    shown = events_text([bad], 80)
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert len(shown) < 2000


def test_a_first_listing_is_told_apart_from_what_a_person_accepted():
    by_listing = replace(event("accepted", "pay"), source="executor")
    by_person = replace(event("accepted", "pay", 5), source="user")
    first, second = events_text([by_listing, by_person], 120).splitlines()[1:]
    assert first.endswith(
        "web.pay: listed for the first time, and so accepted with this definition"
    )
    assert second.endswith("web.pay: accepted with this definition")
