"""Runs that look as if they had ended: by their process's number, or by their silence elsewhere."""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import update

from tests.support.histories import place_of, short
from xai_mcp_agent import Subject, Tool, ToolKey
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Listed, call_event
from xai_mcp_agent.history.tables import runs

IT = Subject(MCP, "it")
TOOL = Tool(ToolKey("mcp", "it", "tool"), "", {"type": "object"})
LONG_AGO = timedelta(hours=1)


def now() -> datetime:
    """The time of a report."""
    return datetime.now(UTC)


def listed(*, connected: bool = False) -> Listed:
    """The server has its one tool."""
    return Listed(IT, now(), (TOOL,), connected, "stdio", "it 1")


@contextmanager
def recorder(folder: Path) -> Generator[ReportWriter]:
    """One run of a process."""
    made = ReportWriter(open_history(place_of(folder / "history.db")), lambda text: text)
    try:
        yield made
    finally:
        made.close()


def pretend(recorder: ReportWriter, **fields: Any) -> None:
    """Have the run look like another one."""
    with recorder.history.writing() as connection:
        connection.execute(update(runs).values(fields))


def changes(recorder: ReportWriter) -> list[str]:
    """What changed so far."""
    return [change for change, _ in short(recorder.history.events())]


DEAD = {
    "its number is that of a process that began later": {"pid_started": 1.0},
    "there is no process of that number": {"pid": 2**22 + 1},
    "it was silent for long on another machine": {"host": "elsewhere", "seen": now() - LONG_AGO},
}  # fmt: skip
ALIVE = {
    "its process is there, however silent": {"seen": now() - LONG_AGO},
    "it was heard of on another machine": {"host": "elsewhere"},
    "it was heard of in another container, which has the same name": {
        "host": f"{socket.gethostname()} / another boot", "pid": 2**22 + 1
    },
}  # fmt: skip


def test_a_run_that_seems_to_be_over_is_ended_and_begins_anew_when_it_lives(tmp_path: Path):
    """A machine may sleep for an hour. What it has is there again as soon as it says anything."""
    for number, looks in enumerate(DEAD.values()):
        folder = tmp_path / f"{number}"
        with recorder(folder) as first:
            first.record([listed(connected=True)])
            pretend(first, **looks)
            with recorder(folder) as second:
                assert changes(second)[2:] == ["disconnected", "unavailable"]
                first.record([call_event(Subject(MCP, "it", "tool"), now(), 0.1)])
                assert changes(second)[4:] == ["reconnected", "confirmed", "called"]
                records = second.history.records()
                assert records.tools[Subject(MCP, "it", "tool")].is_available
                assert len(records.sources[IT].runs) == 1


def test_a_run_that_goes_on_is_left_alone(tmp_path: Path):
    for number, looks in enumerate(ALIVE.values()):
        folder = tmp_path / f"{number}"
        with recorder(folder) as first:
            first.record([listed(connected=True)])
            pretend(first, **looks)
            with recorder(folder) as second:
                assert changes(second) == ["connected", "discovered"]


def test_a_run_says_that_it_is_there_with_everything_it_writes(tmp_path: Path):
    """A busy one has no idle moment to say so in."""
    with recorder(tmp_path) as first:
        first.record([listed(connected=True)])
        pretend(first, host="elsewhere", seen=now() - LONG_AGO)
        first.record([call_event(Subject(MCP, "it", "tool"), now(), 0.1)])
        with recorder(tmp_path) as second:
            assert changes(second) == ["connected", "discovered", "called"]


def test_what_is_still_connected_at_the_end_is_disconnected(tmp_path: Path):
    """A server that does not end in time is not waited for; its loss is told all the same."""
    with recorder(tmp_path) as first:
        first.record([listed(connected=True)])
    with recorder(tmp_path) as second:
        assert changes(second)[2:] == ["disconnected", "unavailable"]
        reason = second.history.events()[2].reason
        assert reason == "It was still connected when its process ended."
