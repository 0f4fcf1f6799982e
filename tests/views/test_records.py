"""What is known of servers and tools, as a person reads it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from xai_mcp_agent import Event, Subject
from xai_mcp_agent.core.tools import MCP, STATIC
from xai_mcp_agent.history.event import Change
from xai_mcp_agent.history.records import records_of
from xai_mcp_agent.views.history import NOTHING
from xai_mcp_agent.views.tools import records_json, records_text

NOON = datetime(2026, 11, 20, 12).astimezone()


def event(change: Change, tool: str | None, after: float = 0, **payload: Any) -> Event:
    """Something that happened to the server `web` so long after noon."""
    time, reason = NOON + timedelta(seconds=after), payload.pop("reason", "")
    return Event(Subject(MCP, "web", tool), change, time, payload, reason=reason, run="1")


LISTED = (
    event("connected", None, server_name="Web 1.2", transport="stdio", tool_count=2),
    event("discovered", "search"),
    event("discovered", "fetch"),
)
CLOSED = (
    event("disconnected", None, 9, reason="exit code 1"),
    event("unavailable", "search", 9, reason="exit code 1"),
)


def shown(*events: Event) -> list[str]:
    """The lines for these events."""
    return records_text(records_of(events), 80).splitlines()


def test_nothing_is_said_where_nothing_was():
    assert shown() == [NOTHING]


def test_a_connected_server_is_shown_with_the_calls_of_its_tools():
    calls = [event("called", "search", n, seconds=0.1 * n) for n in (1, 2)]
    broken = event("called", "search", 3, seconds=1.0, error="too\nmany")
    assert shown(*LISTED, *calls, broken) == [
        "web (Web 1.2): connected, 2 tools",
        "  fetch: never called",
        "  search: 3 calls, 433 ms on average, 95 of 100 within 1.1 s; 1 failed, the",
        "      last: too many",
    ]


def test_a_connected_server_that_could_not_be_listed_anew_says_so():
    assert shown(*LISTED, event("failed", None, 5, reason="It did not answer."))[0] == (
        "web (Web 1.2): connected, 2 tools. Last error: It did not answer."
    )


def test_a_tool_was_seen_whenever_its_whole_server_was():
    """An unchanged inventory is told of the server alone; what is gone was not seen again."""
    gone = event("unavailable", "fetch", 5, reason="It is not listed any more.")
    again = event("refreshed", None, 60, tool_count=1)
    tools = records_json(records_of([*LISTED, gone, again]))["tools"]
    seen = {x["name"]: datetime.fromisoformat(x["last_seen"]) - NOON for x in tools}
    assert seen["search"].seconds == 60
    assert seen["fetch"].seconds <= 5


def test_a_tool_that_is_gone_says_since_when_and_why_and_comes_last():
    gone = event("unavailable", "fetch", 5, reason="It is not listed any more.")
    assert shown(*LISTED, gone, *CLOSED) == [
        "web (Web 1.2): 1 tool, not connected since 2026-11-20 12:00:09: exit code 1",
        "  search: never called",
        "  fetch: never called",
        "      gone since 2026-11-20 12:00:05: It is not listed any more.",
    ]


def test_what_never_worked_and_what_fails_since_is_told():
    failed = event("failed", None, reason="no such program")
    assert shown(failed) == ["web: never connected: no such program"]
    lines = " ".join(x.strip() for x in shown(*LISTED, *CLOSED, failed))
    assert "exit code 1 Since then: no such program" in lines


def test_tools_that_a_person_drew_come_first_and_those_switched_off_are_marked():
    drawn = Event(Subject(STATIC, "", "shout"), "seeded", NOON)
    lines = shown(*LISTED, drawn, event("disabled", "fetch"))
    assert lines[:2] == ["canvas (tools that are drawn): 1 tool", "  shout: never called"]
    assert "  fetch: switched off; never called" in lines


def test_programs_get_the_same_facts_with_times_in_utc():
    gone = event("unavailable", "fetch", 5, reason="It is not listed any more.")
    records = records_of([*LISTED, gone, event("called", "search", 1, seconds=0.5)])
    known = records_json(records, "web")
    sources, tools = known["servers"], known["tools"]
    assert [(x["name"], x["is_connected"], x["title"]) for x in sources] == [
        ("web", True, "Web 1.2")
    ]
    by_name = {x["name"]: x for x in tools}
    assert by_name["fetch"]["state"] == "gone"
    assert datetime.fromisoformat(by_name["fetch"]["unavailable_since"]) == gone.time
    assert by_name["fetch"]["unavailable_since"].endswith("+00:00")
    assert (by_name["search"]["calls"], by_name["search"]["mean_seconds"]) == (1, 0.5)
    assert records_json(records, "other") == {"servers": [], "tools": [], "features": []}
