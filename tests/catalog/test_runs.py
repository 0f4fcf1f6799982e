"""Runs that look as if they had ended: by their process's number, or by their silence elsewhere."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from tests.support.histories import place_of, short
from xai_mcp_agent.catalog.asking.past import When, events_in, records_at
from xai_mcp_agent.catalog.keeping.recorder import Recorder
from xai_mcp_agent.catalog.keeping.reports import Called, Listed, Seeded
from xai_mcp_agent.core.kinds import MCP, STATIC
from xai_mcp_agent.core.tools import Tool, ToolKey
from xai_mcp_agent.history.log import Range
from xai_mcp_agent.history.store import open_store
from xai_mcp_agent.history.subject import Subject
from xai_mcp_agent.history.tables import runs

IT = Subject(MCP, "it")
TOOL = Tool(ToolKey("it", "tool"), "", {"type": "object"})
LONG_AGO = timedelta(hours=1)


def now() -> datetime:
    """The time of a report."""
    return datetime.now(UTC)


def listed(*, connected: bool = False) -> Listed:
    """The server has its one tool."""
    return Listed(IT, now(), (TOOL,), connected, "stdio", "it 1")


@contextmanager
def recorder(folder: Path) -> Generator[Recorder]:
    """One run of a process."""
    made = Recorder(open_store(place_of(folder / "history.db")), lambda text: text)
    try:
        yield made
    finally:
        made.close()


def pretend(recorder: Recorder, **fields: Any) -> None:
    """Have the run look like another one."""
    with recorder.store.writing() as connection:
        connection.execute(update(runs).values(fields))


def changes(recorder: Recorder) -> list[str]:
    """What changed so far."""
    return [change for change, _ in short(events_in(recorder.store, Range()))]


DEAD = {
    "its number is that of a process that began later": {"pid_started": 1.0},
    "there is no process of that number": {"pid": 2**22 + 1},
    "it was silent for long on another machine": {"host": "elsewhere", "seen": now() - LONG_AGO},
}
ALIVE = {
    "its process is there, however silent": {"seen": now() - LONG_AGO},
    "it was heard of on another machine": {"host": "elsewhere"},
}


@pytest.mark.parametrize("looks", DEAD.values(), ids=DEAD)
def test_a_run_that_seems_to_be_over_is_ended_and_begins_anew_when_it_lives(
    looks: dict[str, Any], tmp_path: Path
):
    """A machine may sleep for an hour. What it has is there again as soon as it says anything."""
    with recorder(tmp_path) as first:
        first.record([listed(connected=True)])
        pretend(first, **looks)
        with recorder(tmp_path) as second:
            assert changes(second)[2:] == ["disconnected", "unavailable"]
            first.record([Called(Subject(MCP, "it", "tool"), now(), 0.1)])
            assert changes(second)[4:] == ["reconnected", "confirmed", "called"]
            records = records_at(second.store, When())
            assert records.tools[Subject(MCP, "it", "tool")].is_available
            assert len(records.sources[IT].runs) == 1


def test_what_is_noticed_at_the_start_is_told_before_what_waited_for_the_store(tmp_path: Path):
    """Views as of a time go by the positions, so times should not go back."""
    began = now()
    seed = Seeded(STATIC, now(), (Tool(ToolKey("", "shout"), "", {"type": "object"}),))
    with recorder(tmp_path) as first:
        first.record([replace(listed(connected=True), time=began - LONG_AGO)])
        pretend(first, pid=2**22 + 1)
        store = open_store(place_of(tmp_path / "history.db"))
        late = Recorder(store, lambda text: text, began)
        late.record([seed])
        times = [x.time for x in events_in(store, Range())]
        assert changes(late)[2:] == ["disconnected", "unavailable", "seeded"]
        assert times == sorted(times)
        late.close()


@pytest.mark.parametrize("looks", ALIVE.values(), ids=ALIVE)
def test_a_run_that_goes_on_is_left_alone(looks: dict[str, Any], tmp_path: Path):
    with recorder(tmp_path) as first:
        first.record([listed(connected=True)])
        pretend(first, **looks)
        with recorder(tmp_path) as second:
            assert changes(second) == ["connected", "discovered"]


def test_a_run_says_that_it_is_there_with_everything_it_writes(tmp_path: Path):
    """A busy one has no idle moment to say so in."""
    with recorder(tmp_path) as first:
        first.record([listed(connected=True)])
        pretend(first, host="elsewhere", seen=now() - LONG_AGO)
        first.record([Called(Subject(MCP, "it", "tool"), now(), 0.1)])
        with recorder(tmp_path) as second:
            assert changes(second) == ["connected", "discovered", "called"]


def test_what_is_still_connected_at_the_end_is_disconnected(tmp_path: Path):
    """A server that does not end in time is not waited for; its loss is told all the same."""
    with recorder(tmp_path) as first:
        first.record([listed(connected=True)])
    with recorder(tmp_path) as second:
        assert changes(second)[2:] == ["disconnected", "unavailable"]
        reason = events_in(second.store, Range())[2].reason
        assert reason == "It was still connected when its process ended."


def test_a_listing_of_a_source_that_the_store_does_not_know_of_counts_as_a_connection(
    tmp_path: Path,
):
    """Somebody may have removed the file while it was used."""
    with recorder(tmp_path) as first:
        first.record([listed()])
        assert changes(first) == ["connected", "discovered"]
