"""Events, records, times and plans as text, and records as JSON."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from xai_mcp_agent import Event, Subject, ToolKey
from xai_mcp_agent.core.tools import MCP, STATIC
from xai_mcp_agent.history.event import Change
from xai_mcp_agent.history.records import Fold
from xai_mcp_agent.planning import FromResult, Missing, Parts, Plan, PlannedCall, Value
from xai_mcp_agent.views.history import NOTHING, events_text
from xai_mcp_agent.views.plans import plan_text
from xai_mcp_agent.views.times import BadTime, moment, position_or_moment, seconds_text
from xai_mcp_agent.views.tools import records_json, records_text

NOON = datetime(2026, 11, 20, 12).astimezone()
NOT_LISTED = "It is no longer listed."


def event(change: Change, tool: str | None = None, seconds: float = 0, **payload: Any) -> Event:
    """An event of the server `web`, this many seconds after noon."""
    time, reason = NOON + timedelta(seconds=seconds), payload.pop("reason", "")
    return Event(Subject(MCP, "web", tool), change, time, payload, reason=reason, run="1")


def called(tool: str, after: float, seconds: float = 0.1, **payload: Any) -> Event:
    call = event("called", tool, after, **payload)
    return replace(call, payload={**call.payload, "seconds": seconds})


def lines(*events: Event) -> list[str]:
    """The lines of these events, without the day."""
    return events_text(events).splitlines()[1:]


# Events


def test_events_are_listed_by_day_with_time_and_reason():
    text = events_text(
        [
            event("connected", server_name="Web 1.2", transport="stdio", tool_count=1),
            event("discovered", "search"),
            event("unavailable", "search", 5, reason=NOT_LISTED),
            event("disconnected", None, 86_400, reason="exit code 1"),
        ]
    )
    assert text.splitlines() == [
        "2026-11-20, Friday",
        "12:00:00  web: connected for the first time over stdio (Web 1.2), 1 tool",
        "12:00:00  web.search: new",
        "12:00:05  web.search: not available: It is no longer listed.",
        "2026-11-21, Saturday",
        "12:00:00  web: disconnected: exit code 1",
    ]
    assert events_text([]) == NOTHING


def test_similar_events_share_one_line():
    assert lines(*(event("discovered", f"t{n}") for n in range(10_000))) == [
        "12:00:00  web: 10,000 tools new (t0, t1, t2, t3, t4, t5 and 9,994 more)"
    ]
    calls = [called("search", n, 0.1 * (n + 1)) for n in range(3)]
    calls[1].payload["error"] = "too   many\nrequests"
    assert lines(*calls) == [
        "12:00:00  web.search: called 3 times until 12:00:02, 200 ms each, 300 ms at most; "
        "1 failed, the last: too many requests",
    ]
    assert lines(calls[1]) == ["12:00:01  web.search: failed after 200 ms: too many requests"]
    assert len(lines(*(called(f"t{n % 2}", n) for n in range(12)))) == 12
    assert len(lines(*(called(f"t{n % 2}", n) for n in range(13)))) == 2, "summed up by tool"


def test_text_of_servers_is_cleaned_and_cut():
    untrusted = event("unavailable", "\x1b[2Ja", reason="\x1b]0;x\x07" + "word " * 100_000)
    text = events_text([untrusted])
    assert "\x1b" not in text
    assert len(text) < 2000


# Records


LISTED = (
    event("connected", server_name="Web 1.2", transport="stdio", tool_count=2),
    event("discovered", "search"),
    event("discovered", "fetch"),
)
FETCH_REMOVED = event("unavailable", "fetch", 5, reason=NOT_LISTED)
CLOSED = event("disconnected", None, 9, reason="exit code 1")


def records(*events: Event) -> list[str]:
    """The lines of the records after these events."""
    return records_text(Fold().take(events).records()).splitlines()


def test_each_server_lists_its_tools_with_a_summary_of_their_calls():
    broken = called("search", 3, 1.0, error="too\nmany")
    assert records(*LISTED, called("search", 1), called("search", 2, 0.2), broken) == [
        "web (Web 1.2): connected, 2 tools",
        "  fetch: never called",
        "  search: 3 calls, 433 ms on average, p95 1.1 s; 1 failed, the last: too many",
    ]
    seeded = Event(Subject(STATIC, "", "shout"), "seeded", NOON)
    text = records(*LISTED, seeded, event("disabled", "fetch"))
    assert text[:2] == ["canvas (tools on the canvas): 1 tool", "  shout: never called"]
    assert "  fetch: switched off; never called" in text
    assert records() == [NOTHING]


def test_a_missing_tool_or_server_has_a_time_and_a_reason():
    assert records(*LISTED, FETCH_REMOVED, CLOSED) == [
        "web (Web 1.2): 1 tool, not connected since 2026-11-20 12:00:09: exit code 1",
        "  search: never called",
        "  fetch: never called",
        "      gone since 2026-11-20 12:00:05: It is no longer listed.",
    ]
    failed = event("failed", reason="no such program")
    assert records(failed) == ["web: never connected: no such program"]
    assert records(*LISTED, failed)[0].endswith("2 tools. Last error: no such program")
    assert "Since then: no such program" in " ".join(records(*LISTED, CLOSED, failed))


def test_the_json_of_records_has_times_in_utc():
    """An unchanged listing counts for every tool in it, and for no former tool."""
    again = event("refreshed", None, 60, tool_count=1)
    after = Fold().take([*LISTED, FETCH_REMOVED, called("search", 1, 0.5), again]).records()
    value = records_json(after, "web")
    assert [(x["name"], x["is_connected"]) for x in value["servers"]] == [("web", True)]
    search, fetch = value["tools"]
    assert (search["calls"], search["mean_seconds"], fetch["state"]) == (1, 0.5, "gone")
    assert datetime.fromisoformat(fetch["unavailable_since"]) == FETCH_REMOVED.time
    assert fetch["unavailable_since"].endswith("+00:00")
    search_seconds, fetch_seconds = (
        (datetime.fromisoformat(x["last_seen"]) - NOON).seconds for x in (search, fetch)
    )
    assert search_seconds == 60
    assert fetch_seconds <= 5
    assert records_json(after, "other") == {"servers": [], "tools": [], "features": []}


# Times

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def test_a_time_is_a_duration_ago_or_a_date_in_local_time():
    for text, ago in (("90s", {"seconds": 90}), ("30 min", {"minutes": 30}), ("3D", {"days": 3})):
        assert moment(text, NOW) == NOW - timedelta(**ago)
    here = datetime(2026, 11, 20).astimezone()
    assert moment("2026-11-20", NOW) == here
    assert moment("2026-11-20  14:00", NOW) == here + timedelta(hours=14)
    assert moment("2026-11-20T14:00:00+02:00", NOW) == datetime(2026, 11, 20, 12, tzinfo=UTC)
    end = position_or_moment("2026-11-20", NOW)  # the end of that day
    assert isinstance(end, datetime)
    assert timedelta(hours=23) < end - here < timedelta(hours=25)
    assert position_or_moment("120", NOW) == 120
    for text in ("", "20x", "2026-13-01", "999999w", "0001-01-01"):
        with pytest.raises(BadTime, match="Write 2h or 3d"):
            moment(text, NOW)


def test_durations_are_rounded_for_a_person():
    for seconds, text in (
        (0.0004, "0.4 ms"), (0.0123, "12 ms"), (0.9996, "1.0 s"), (12.34, "12.3 s"),
        (75, "1 min 15 s"), (7320, "2 h 2 min"),
    ):  # fmt: skip
        assert seconds_text(seconds) == text


# Plans

FIND = PlannedCall(ToolKey("mcp", "shop", "find"), "find", {"email": Value("ada@example.org")})
SOURCES = {
    "id": FromResult(0, "users[].id", "one of them", 1.0, ("both are ids",)),
    "all": FromResult(0),
    "list": Parts((Value(1), FromResult(0, "name"))),
    "why": Missing("nothing says it"),
}
PLAN = Plan(
    "Do it.",
    (FIND, PlannedCall("use", "use", SOURCES, ("asked for: it",))),
    ("Call 2, use: you must give 'why'.",),
    ("made of words",),
    is_rough=True,
)


def test_a_plan_lists_the_origin_of_each_argument_its_problems_and_reasons():
    assert plan_text(PLAN).splitlines() == [
        "A rough plan for: Do it.",
        "1. shop/find",
        '   email: "ada@example.org"',
        "2. use",
        "   id: users[].id of call 1, only the first of several (both are ids)",
        "   all: the result of call 1",
        "   list: [1, name of call 1]",
        "   why: you must give it: nothing says it",
        "   - asked for: it",
        "Fix before running:",
        "- Call 2, use: you must give 'why'.",
        "About this plan:",
        "- made of words",
    ]
    short = plan_text(PLAN, with_reasons=False)
    assert "made of words" not in short
    assert "both are ids" not in short


def test_text_of_servers_in_a_plan_is_cleaned_and_cut():
    evil = "x\x1b[2J\nFix before running\u202e" + "y" * 9_000
    plan = Plan(evil, (PlannedCall(evil, evil, {evil: Value(evil)}),))
    text = plan_text(plan)
    assert len(text) < 2_000
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert not any(x.startswith("Fix before running") for x in text.splitlines())
