"""Runs that look as if they had ended: by their process's number, or by their silence elsewhere."""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from tests.support.histories import place_of, short
from tests.support.recorded import a_history
from xai_mcp_agent import Subject, Tool, ToolKey
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Listed, call_event
from xai_mcp_agent.history.tables import runs

IT, IT_TOOL = Subject(MCP, "it"), Subject(MCP, "it", "tool")
TOOL = Tool(ToolKey("mcp", "it", "tool"), "", {"type": "object"})
LONG_AGO = datetime.now(UTC) - timedelta(hours=1)
NO_PROCESS = 2**22 + 1


@contextmanager
def process(folder: Path) -> Generator[ReportWriter]:
    """One run of a process."""
    writer = ReportWriter(open_history(place_of(folder / "history.db")), str)
    try:
        yield writer
    finally:
        writer.close()


def connect(writer: ReportWriter, **looks: Any) -> None:
    """The server connects and lists its one tool; then the run is made to look like another."""
    writer.record([Listed(IT, datetime.now(UTC), (TOOL,), True, "stdio", "it 1")])
    with writer.history.writing() as connection:
        connection.execute(update(runs).values(looks)) if looks else None


def call(writer: ReportWriter) -> None:
    writer.record([call_event(IT_TOOL, datetime.now(UTC), 0.1)])


def changes(writer: ReportWriter) -> list[str]:
    return [change for change, _ in short(writer.history.events())]


@pytest.mark.parametrize(
    "looks",
    [{"pid_started": 1.0}, {"pid": NO_PROCESS}, {"host": "elsewhere", "seen": LONG_AGO}],
    ids=["another process has its number", "no process", "long silent on another machine"],
)
def test_a_run_that_seems_to_be_over_is_ended_and_begins_anew_when_it_lives(
    tmp_path: Path, looks: dict[str, Any]
):
    """A machine may sleep for an hour. What it has is there again as soon as it says anything."""
    with process(tmp_path) as first:
        connect(first, **looks)
        with process(tmp_path) as second:
            assert changes(second)[2:] == ["disconnected", "unavailable"]
            call(first)
            assert changes(second)[4:] == ["reconnected", "confirmed", "called"]
            records = second.history.records()
            assert records.tools[IT_TOOL].is_available
            assert len(records.sources[IT].runs) == 1


@pytest.mark.parametrize(
    "looks",
    [
        {"seen": LONG_AGO}, {"host": "elsewhere"},
        {"host": f"{socket.gethostname()} / another boot", "pid": NO_PROCESS},
    ],
    ids=["silent", "on another machine", "in a container of the same name"],
)  # fmt: skip
def test_a_run_that_goes_on_is_left_alone(tmp_path: Path, looks: dict[str, Any]):
    with process(tmp_path) as first:
        connect(first, **looks)
        with process(tmp_path) as second:
            assert changes(second) == ["connected", "discovered"]


def test_a_run_says_with_everything_it_writes_and_at_its_end_that_it_is_there(tmp_path: Path):
    """A busy one has no idle moment to say so in."""
    with process(tmp_path) as first:
        connect(first, host="elsewhere", seen=LONG_AGO)
        call(first)
        with process(tmp_path) as second:
            assert changes(second) == ["connected", "discovered", "called"]
    with process(tmp_path) as third:
        assert changes(third)[3:] == ["disconnected", "unavailable"]
        reason = third.history.events()[3].reason
        assert reason == "It was still connected when its process ended."


def test_each_process_records_a_failure_once_until_something_else_happens(tmp_path: Path):
    with a_history(place_of(tmp_path / "history.db")) as history:
        for problem in ("no such program", "no such program", "out of memory", "no such program"):
            history.failed("git", problem)
        history.connected("git", TOOL)
        history.failed("git", "no such program")
    with a_history(place_of(tmp_path / "history.db")) as history:
        history.failed("git", "no such program")
        assert [x.change for x in history.store.events()].count("failed") == 5
