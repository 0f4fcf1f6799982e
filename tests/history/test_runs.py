"""Runs that look as if they had ended: by their process's number, or by their silence elsewhere."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from tests.support.histories import place_of, short
from xai_mcp_agent import Subject, Tool, ToolKey
from xai_mcp_agent.core.tools import MCP, STATIC
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Listed, Seeded, call_event
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
    "it was silent for long in another container": {
        "host": f"{socket.gethostname()} / another boot", "seen": now() - LONG_AGO
    },
}  # fmt: skip
ALIVE = {
    "its process is there, however silent": {"seen": now() - LONG_AGO},
    "it was heard of on another machine": {"host": "elsewhere"},
    "it was heard of in another container, which has the same name": {
        "host": f"{socket.gethostname()} / another boot", "pid": 2**22 + 1
    },
}  # fmt: skip


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
            first.record([call_event(Subject(MCP, "it", "tool"), now(), 0.1)])
            assert changes(second)[4:] == ["reconnected", "confirmed", "called"]
            records = second.history.records()
            assert records.tools[Subject(MCP, "it", "tool")].is_available
            assert len(records.sources[IT].runs) == 1


def test_what_is_noticed_at_the_start_is_reported_before_what_waited_for_the_store(tmp_path: Path):
    """Views as of a time go by the positions, so times should not go back."""
    began = now()
    seed = Seeded(STATIC, now(), (Tool(ToolKey("tools", "", "shout"), "", {"type": "object"}),))
    with recorder(tmp_path) as first:
        first.record([replace(listed(connected=True), time=began - LONG_AGO)])
        pretend(first, pid=2**22 + 1)
        store = open_history(place_of(tmp_path / "history.db"))
        late = ReportWriter(store, lambda text: text, began)
        late.record([seed])
        times = [x.time for x in store.events()]
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


def can_be_alone() -> bool:
    """Whether a process can have numbers of its own here, as in a container."""
    if shutil.which("unshare") is None:
        return False
    return not subprocess.run([*ALONE, "true"], capture_output=True, timeout=20).returncode


ALONE = ["unshare", "--pid", "--fork", "--mount-proc"]
IN_A_CONTAINER = """
import sys
from pathlib import Path
from tests.history.test_runs import changes, recorder
with recorder(Path(sys.argv[1])) as inside:
    inside.record(())
    print(changes(inside))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs pid namespaces")
def test_a_container_with_the_same_name_leaves_the_runs_outside_alone(tmp_path: Path):
    """Numbers of processes are others there; nobody is taken for ended at every beat."""
    if not can_be_alone():
        pytest.skip("no pid namespaces can be made here")
    with recorder(tmp_path) as first:
        first.record([listed(connected=True)])
        command = [*ALONE, sys.executable, "-c", IN_A_CONTAINER, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=os.getcwd())
        assert done.stdout == "['connected', 'discovered']\n", done.stderr
        first.record(())
        assert changes(first) == ["connected", "discovered"]


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


def test_a_listing_of_a_source_that_the_store_does_not_know_of_counts_as_a_connection(
    tmp_path: Path,
):
    """Somebody may have removed the file while it was used."""
    with recorder(tmp_path) as first:
        first.record([listed()])
        assert changes(first) == ["connected", "discovered"]
