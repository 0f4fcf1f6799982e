"""Statistics of calls: numbers, callers, durations, and the tools called next."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.support.recorded import NOON
from xai_mcp_agent import Subject, ToolKey, Usage
from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.core.tools import MCP, META
from xai_mcp_agent.history.event import Event, subject_of
from xai_mcp_agent.history.recording.call_journal import call_event
from xai_mcp_agent.history.recording.recorder import caller_fields
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import refusal_event
from xai_mcp_agent.history.usage import NO_USAGE

LOG = Subject(MCP, "git", "log")
NAMES = ("log", "blame", "", "'; DROP TABLE x", "\x1b[31m\u202eö", "x" * 300)
FIRST = datetime.min.replace(year=1970, tzinfo=NOON.tzinfo)


def some_calls(count: int = 400) -> list[Event]:
    chance = random.Random(15)
    return [
        call_event(
            Subject(MCP, chance.choice(("git", "files")), chance.choice(NAMES)),
            NOON + timedelta(seconds=number),
            chance.choice((0.0, 2e-7, 0.004, 0.03, 1.0, 100.0)) * chance.uniform(1, 2),
            "There is no shelf 9." if chance.random() < 0.2 else "",
        )
        for number in range(count)
    ]


def stats(writer: ReportWriter, since: datetime | None) -> dict[Subject, Usage]:
    return {x.subject: x.usage for x in writer.history.stats(since).tools}


def test_statistics_match_the_events(writer: ReportWriter):
    writer.record(some_calls())
    for since in (None, FIRST, NOON + timedelta(seconds=250)):
        calls = [x for x in some_calls() if since is None or x.time >= since]
        tools = stats(writer, since)
        assert tools.keys() == {x.subject for x in calls}
        for tool, of in tools.items():
            mine = [x for x in calls if x.subject == tool]
            seconds = sorted(x.payload["seconds"] for x in mine)
            assert (of.calls, of.errors) == (len(mine), sum("error" in x.payload for x in mine))
            assert of.last_executed == max(x.time for x in mine)
            assert of.total_seconds == pytest.approx(sum(seconds))
            for percentile, exact in (
                (of.median_seconds, seconds[(len(mine) - 1) // 2]),
                (of.p95_seconds, seconds[-(len(mine) // 20) - 1]),
            ):
                assert percentile is not None
                assert max(exact, 1e-6) <= percentile * 1.0001 <= max(exact, 1e-6) * 1.06


def test_refused_calls_do_not_count_and_an_argument_named_error_is_no_error(writer: ReportWriter):
    odd: Any = {"error": "x", "status": "error"}
    writer.record([
        call_event(LOG, NOON, 0.5, arguments=odd), call_event(LOG, NOON, 0.5, "bad", odd),
        call_event(LOG, NOON, 1, "bad"), refusal_event(LOG, NOON, "It is switched off."),
    ])  # fmt: skip
    for since in (None, FIRST):
        of = stats(writer, since)[LOG]
        assert (of.calls, of.errors) == (3, 2)


def test_an_event_has_the_agent_workflow_node_toolbelt_run_and_call(writer: ReportWriter):
    helper = Caller("agent", "helper", "default", "b194", workflow="my_agent", node="AgentRun")
    by = caller_fields(helper, "call_1")
    writer.record([call_event(LOG, NOON, 0.5, "There is no shelf 9.", by=by)])
    writer.record([refusal_event(LOG, NOON, "It was not approved.", by=by)])
    called, refused = writer.history.events()
    who = {
        "caller": "agent", "agent": "helper", "workflow": "my_agent", "node": "AgentRun",
        "toolbelt": "default", "run_id": "b194", "call_id": "call_1",
    }  # fmt: skip
    failed = {"status": "error", "seconds": 0.5, "error": "There is no shelf 9."}
    assert called.payload == failed | who
    assert refused.payload == {"status": "refused", **who}


# Percentiles of recent calls, in buckets.


def test_percentiles_cover_recent_calls_also_since_a_time():
    """They cover the last 500 to 1,000 calls, and none before the time."""
    slow, quick = (call_event(LOG, NOON, seconds) for seconds in (1.0, 0.001))
    for earlier in (0, 3, 499, 500, 999, 1000, 1499, 1500, 1700):
        before = NO_USAGE.with_calls([slow] * earlier)
        usage = before.with_calls([quick] * (1700 - earlier))
        assert sum(usage.durations.values()) + sum(usage.durations_before.values()) <= 1000
        since = usage.since(before)
        assert since.calls == 1700 - earlier
        most = since.p95_seconds
        assert most is None if earlier == 1700 else most is not None and most < 0.0011


# Tools called next, for suggestions.


def agent(run: str) -> Caller:
    return Caller("agent", "helper", run=run)


def called(tool: str, caller: Caller, error: str = "", kind: str = "mcp") -> Event:
    return call_event(subject_of(kind, "shop", tool), NOON, 0.1, error, by=caller_fields(caller))


def test_what_follows_a_call_is_counted_by_run_and_without_failures(writer: ReportWriter):
    """Steps on the canvas are one sequence, though each has a run id of its own."""
    a, b, c = map(agent, "abc")
    writer.record([
        called("find", a), called("find", b), called("pay", b), called("list", a),
        called("find", a), called("list", a),
        called("find", c), called("pay", c, "no money"), called("tool_search", c, kind=META.name),
        called("list", c),
        called("find", Caller("person", run="s1")), called("draw", Caller("person", run="s2")),
    ])  # fmt: skip
    next_tools = writer.history.followers(ToolKey("mcp", "shop", "find"))
    times = {key.name: times for key, times in next_tools.items()}
    assert times == {"list": 3, "pay": 1, "draw": 1}
