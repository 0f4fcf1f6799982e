"""How often tools were called is what the events come to, of all time and since a time."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.support.recorded import NOON
from xai_mcp_agent import CallStats, Subject
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.event import Event
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import call_event, refusal_event
from xai_mcp_agent.history.usage import NO_USAGE, Call

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


def counted(writer: ReportWriter, since: datetime | None) -> dict[Subject, CallStats]:
    return {x.subject: x for x in writer.history.stats(since).tools}


@pytest.mark.parametrize("since", [None, FIRST, NOON + timedelta(seconds=250)])
def test_calls_errors_and_the_last_use_are_those_of_the_events(
    writer: ReportWriter, since: datetime | None
) -> None:
    writer.record(some_calls())
    wanted = [x for x in some_calls() if since is None or x.time >= since]
    found = counted(writer, since)
    assert found.keys() == {x.subject for x in wanted}
    for tool, of in found.items():
        mine = [x for x in wanted if x.subject == tool]
        assert (of.calls, of.errors) == (len(mine), sum("error" in x.payload for x in mine))
        assert of.last_used == max(x.time for x in mine)
        assert of.total_seconds == pytest.approx(sum(x.payload["seconds"] for x in mine))
        seconds = sorted(x.payload["seconds"] for x in mine)
        assert of.median_seconds is not None
        assert of.p95_seconds is not None
        half, most = seconds[(len(mine) - 1) // 2], seconds[-(len(mine) // 20) - 1]
        assert max(half, 1e-6) <= of.median_seconds * 1.0001 <= max(half, 1e-6) * 1.06
        assert max(most, 1e-6) <= of.p95_seconds * 1.0001 <= max(most, 1e-6) * 1.06


def test_a_refused_call_is_none_and_an_argument_called_error_is_no_error(
    writer: ReportWriter,
) -> None:
    tool = Subject(MCP, "git", "log")
    given: Any = {"error": "x", "status": "error"}
    writer.record([
        call_event(tool, NOON, 0.5, arguments=given), call_event(tool, NOON, 0.5, "bad", given),
        call_event(tool, NOON, 1, "bad"), refusal_event(tool, NOON, "It is switched off."),
    ])  # fmt: skip
    for since in (None, FIRST):
        of = counted(writer, since)[tool]
        assert (of.calls, of.errors) == (3, 2)


def test_recent_calls_since_a_time_are_those_that_came_after_it() -> None:
    """Of the last 500 to 1,000 calls, those from before do not count."""
    call = Call(NOON, 1.0, "")
    for earlier in (0, 3, 499, 500, 999, 1000, 1499, 1500, 1700):
        slow, quick = [call] * earlier, [call._replace(seconds=0.001)] * (1700 - earlier)
        before = NO_USAGE.with_calls(slow)
        since = before.with_calls(quick).since(before)
        assert since.calls == len(quick)
        most = since.p95_seconds
        assert most is None if earlier == 1700 else most is not None and most < 0.0011
