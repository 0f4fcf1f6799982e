"""What is too old, or too much, goes; what is left answers as it did."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.history.test_stores_records import life, tool
from tests.support.histories import rebuild
from xai_mcp_agent import StoreFailed, Subject
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history import retention
from xai_mcp_agent.history.history import When
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Listed, Lost, call_event
from xai_mcp_agent.history.retention import prune
from xai_mcp_agent.settings.sections import Retention

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
MANY = Subject(MCP, "many")


def live(writer: ReportWriter, days: int) -> None:
    """A server of a hundred tools, of which another one changes each day."""
    for day in range(days):
        time = BEGIN + timedelta(days=day)
        words = {7: f"since day {day}"}
        tools = tuple(tool("many", f"t{n}", words.get(n, "")) for n in range(100))
        writer.record([Listed(MANY, time, tools, connected=True)])
        writer.record([call_event(Subject(MCP, "many", "t7"), time, 0.25)])
        writer.record([Lost(MANY, time + timedelta(hours=1), "closed")])


def test_older_events_go_and_the_rest_stays_as_it_is(writer: ReportWriter):
    live(writer, 10)
    store = writer.history
    events, records = store.events(), store.records()
    middle = next(x for x in events if x.time > BEGIN + timedelta(days=6))
    then = store.records(When(position=middle.position))
    keep, now = Retention(4, None), BEGIN + timedelta(days=9)
    report = prune(store, keep, now, is_dry=True)
    assert store.events() == events
    assert prune(store, keep, now) == report
    left = store.events()
    assert left == [x for x in events if x.position > report.events]
    assert left[0].time == BEGIN + timedelta(days=5)
    assert store.records() == records
    assert store.records(When(position=middle.position)) == then
    rebuild(store)
    assert store.records() == records
    with pytest.raises(StoreFailed, match="begins after event"):
        store.records(When(time=BEGIN + timedelta(days=2)))
    assert store.graph().nodes
    assert len(store.versions("many", "t7")) == 5
    assert prune(store, keep, now).events == 0


def test_the_oldest_goes_when_there_is_too_much(
    writer: ReportWriter, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(retention, "_LEAST_ROWS", 10)
    live(writer, 60)
    store, records = writer.history, writer.history.records()

    def sizes() -> tuple[float, float]:
        with store.reading() as connection:
            return retention.size_of(connection, store.project_id)[1:]

    own, fixed = sizes()
    report = prune(store, Retention(None, (fixed + own / 2) / 1_000_000), datetime.now(UTC))
    assert report.events > 100
    assert own / 5 < sizes()[0] < own * 0.7
    rebuild(store)
    assert store.records() == records


def test_a_history_can_be_pruned_anywhere(writer: ReportWriter):
    for seed in (6, 7):
        writer.record(life(seed))
    store, before = writer.history, writer.history.records()
    now = store.events()[-1].time
    for days in (0.05, 0.045, 0.03):
        prune(store, Retention(days, None), now)
        records = store.records()
        assert records.sources == before.sources
        assert {x: y for x, y in before.tools.items() if x in records.tools} == records.tools
        rebuild(store)
        assert store.records() == records
