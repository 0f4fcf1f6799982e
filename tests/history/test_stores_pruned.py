"""What is too old, or too much, goes; what is left answers as it did."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from tests.history.test_stores_records import life, tool
from tests.support.histories import rebuild
from xai_mcp_agent import StoreFailed, Subject
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history import retention
from xai_mcp_agent.history.log import Range
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.queries import When, events_in, graph_at, records_at, versions_of
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Called, Listed, Lost
from xai_mcp_agent.history.retention import prune
from xai_mcp_agent.history.store import Store, open_store
from xai_mcp_agent.history.tables import definitions, inventories
from xai_mcp_agent.settings.sections import Retention

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
MANY = Subject(MCP, "many")


@pytest.fixture
def writer(place: Place) -> Iterator[ReportWriter]:
    made = ReportWriter(open_store(place), str)
    yield made
    made.close()


def live(writer: ReportWriter, days: int) -> None:
    """A server of a hundred tools, of which another one changes each day."""
    for day in range(days):
        time = BEGIN + timedelta(days=day)
        words = {7: f"since day {day}"}
        tools = tuple(tool("many", f"t{n}", words.get(n, "")) for n in range(100))
        writer.record([Listed(MANY, time, tools, connected=True)])
        writer.record([Called(Subject(MCP, "many", "t7"), time, 0.25)])
        writer.record([Lost(MANY, time + timedelta(hours=1), "closed")])


def digests(store: Store) -> set[str]:
    with store.reading() as connection:
        return set(connection.execute(select(definitions.c.digest)).scalars())


def test_what_is_older_goes_and_the_rest_stays_as_it_is(writer: ReportWriter) -> None:
    live(writer, 10)
    store = writer.store
    events, records = events_in(store, Range()), records_at(store, When())
    middle = next(x for x in events if x.time > BEGIN + timedelta(days=6))
    then = records_at(store, When(position=middle.position))
    told = prune(store, Retention(4, None), BEGIN + timedelta(days=9), is_dry=True)
    assert events_in(store, Range()) == events
    assert prune(store, Retention(4, None), BEGIN + timedelta(days=9)) == told
    left = events_in(store, Range())
    assert left == events[told.events :]
    assert left[0].time == BEGIN + timedelta(days=5)
    assert records_at(store, When()) == records
    assert records_at(store, When(position=middle.position)) == then
    rebuild(store)
    assert records_at(store, When()) == records
    with pytest.raises(StoreFailed, match="begins behind event"):
        records_at(store, When(time=BEGIN + timedelta(days=2)))
    assert graph_at(store, When()).nodes
    assert len(versions_of(store, Subject(MCP, "many", "t7"))) == 5
    assert prune(store, Retention(4, None), BEGIN + timedelta(days=9)).events == 0


def test_definitions_and_inventories_that_nobody_names_go_along(writer: ReportWriter) -> None:
    live(writer, 10)
    before = digests(writer.store)
    prune(writer.store, Retention(4, None), BEGIN + timedelta(days=9))
    assert len(before) == 109
    assert len(digests(writer.store)) == 105  # that of the begin is one of the views of the past
    with writer.store.reading() as connection:
        assert len(connection.execute(select(inventories.c.digest)).all()) == 5
    for event in events_in(writer.store, Range()):
        assert event.payload


def test_all_but_the_newest_may_go_and_positions_are_counted_on(writer: ReportWriter) -> None:
    live(writer, 3)
    store = writer.store
    last, records = events_in(store, Range())[-1], records_at(store, When())
    prune(store, Retention(1, None), BEGIN + timedelta(days=900))
    assert events_in(store, Range())[-1] == last
    assert records_at(store, When()) == records
    live(writer, 1)
    assert events_in(store, Range(after=last.position))[0].position == last.position + 1


def test_the_oldest_goes_when_there_is_too_much(
    writer: ReportWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "_LEAST_ROWS", 10)
    live(writer, 60)
    store, records = writer.store, records_at(writer.store, When())
    with store.reading() as connection:
        _, own, fixed = retention.size_of(connection, store.project_id)
    keep = Retention(None, (fixed + own / 2) / 1_000_000)
    told = prune(store, keep, datetime.now(UTC))
    assert told.events > 1000
    with store.reading() as connection:
        _, left, fixed = retention.size_of(connection, store.project_id)
    assert own / 5 < left < own * 0.7
    assert records_at(store, When()) == records
    rebuild(store)
    assert records_at(store, When()) == records


def test_tools_that_are_gone_since_then_are_forgotten(writer: ReportWriter) -> None:
    for day in range(5):
        time = BEGIN + timedelta(days=day)
        writer.record([Listed(MANY, time, (tool("many", f"made_{day}"),), connected=True)])
    prune(writer.store, Retention(1.5, None), BEGIN + timedelta(days=4))
    names = {x.tool for x in records_at(writer.store, When()).tools}
    assert names == {"made_2", "made_3", "made_4"}
    records = records_at(writer.store, When())
    rebuild(writer.store)
    assert records_at(writer.store, When()) == records


def test_what_happened_by_chance_is_pruned_anywhere_and_stays_true(writer: ReportWriter) -> None:
    for seed in (6, 7):
        writer.record(life(seed))
    store, records = writer.store, records_at(writer.store, When())
    events = events_in(store, Range())
    for days in (0.05, 0.045, 0.03):
        prune(store, Retention(days, None), events[-1].time)
        known = records_at(store, When())
        assert known.sources == records.sources
        assert {x: y for x, y in records.tools.items() if x in known.tools} == known.tools
        rebuild(store)
        assert records_at(store, When()) == known
