"""Runs that ended without a word, and runs that only look like it."""

from __future__ import annotations

import re
import socket
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from tests.support.bridge_scripts import END_SECONDS, next_line, script
from tests.support.fault_server import entry
from tests.support.histories import events_of, short
from tests.support.recorded import a_history, place_of_file
from xai_mcp_agent import Bridge, Subject, Tool, ToolKey
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.recording.call_journal import call_event
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Listed, Lost
from xai_mcp_agent.history.tables import runs

IT, IT_TOOL = Subject(MCP, "it"), Subject(MCP, "it", "tool")
TOOL = Tool(ToolKey("mcp", "it", "tool"), "", {"type": "object"})
LONG_AGO = datetime.now(UTC) - timedelta(hours=1)
NO_PROCESS = 2**22 + 1


@contextmanager
def process(folder: Path) -> Generator[ReportWriter]:
    """One run of a process."""
    writer = ReportWriter(open_history(place_of_file(folder / "history.db")), str)
    try:
        yield writer
    finally:
        writer.close()


def connect(writer: ReportWriter, **looks: Any) -> None:
    """The server connects and lists its tool; then the row of the run gets these values."""
    writer.record([Listed(IT, datetime.now(UTC), (TOOL,), "stdio", "it 1")])
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
def test_a_run_that_looks_dead_is_ended_and_begins_again_if_it_is_alive(
    tmp_path: Path, looks: dict[str, Any]
):
    """A machine may sleep for an hour. Its sources are back with its next report."""
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
def test_a_live_run_is_not_ended(tmp_path: Path, looks: dict[str, Any]):
    with process(tmp_path) as first:
        connect(first, **looks)
        with process(tmp_path) as second:
            assert changes(second) == ["connected", "discovered"]


def test_every_write_of_a_run_shows_that_it_is_alive(tmp_path: Path):
    """A busy run has no idle moment for a heartbeat."""
    with process(tmp_path) as first:
        connect(first, host="elsewhere", seen=LONG_AGO)
        call(first)
        with process(tmp_path) as second:
            assert changes(second) == ["connected", "discovered", "called"]
    with process(tmp_path) as third:
        assert changes(third)[3:] == ["disconnected", "unavailable"]
        reason = third.history.events()[3].reason
        assert reason == "It was still connected when its process ended."


def test_tools_are_lost_with_the_last_run_of_their_source(tmp_path: Path):
    """Thirty kernels may share a file: a tool is available while any of them has it."""
    with process(tmp_path) as one, process(tmp_path) as other:
        connect(one)
        connect(other)
        runs = [x.run for x in one.history.events() if x.subject == IT]
        for writer, is_available in ((one, True), (other, False)):
            writer.record([Lost(IT, datetime.now(UTC), "It was closed.")])
            assert one.history.records().tools[IT_TOOL].is_available == is_available
        ends = [(x.change, x.run) for x in one.history.events()[-3:]]
        assert ends == [("left", runs[0]), ("disconnected", runs[1]), ("unavailable", runs[1])]


def test_each_process_records_a_repeated_failure_once(tmp_path: Path):
    with a_history(place_of_file(tmp_path / "history.db")) as history:
        for problem in ("no such program", "no such program", "out of memory", "no such program"):
            history.failed("git", problem)
        history.connected("git", TOOL)
        history.failed("git", "no such program")
    with a_history(place_of_file(tmp_path / "history.db")) as history:
        history.failed("git", "no such program")
        assert [x.change for x in history.store.events()].count("failed") == 5


# Processes that end without a word, and several that have the same server at the same time.


SERVER_ID, TOOL_ID = "mcp:it", "mcp_tool:it_tool"
FIRST = [("connected", SERVER_ID), ("discovered", TOOL_ID)]
AGAIN = [("reconnected", SERVER_ID), ("confirmed", TOOL_ID)]
LOST = [("disconnected", SERVER_ID), ("unavailable", TOOL_ID)]
LISTED = {"tools": [{"name": "tool", "inputSchema": {"type": "object"}}]}
# A script with a connected server whose events are stored.
HOLDS_IT = f"""
    bridge = Bridge(
        {{"mcpServers": {{"it": entry(**{LISTED!r})}}}},
        store=os.path.join(os.path.dirname(journal), "history.db"),
    )
    bridge.list_tools("it")

    async def settle(operations):
        operations.engine.recorder.flush().result(20)

    bridge.run(settle)
    say(os.getpid())
"""


def open_bridge(folder: Path) -> Bridge:
    """A bridge with the same server and the same store."""
    return Bridge({"mcpServers": {"it": entry(**LISTED)}}, store=folder / "history.db")


def test_the_next_process_ends_the_run_of_a_killed_one(tmp_path: Path):
    """Its sources are contradicted then, with this reason."""
    with script(tmp_path, f"{HOLDS_IT}\n    signal.pause()\n") as child:
        pid = next_line(child)
        child.kill()
        child.wait(END_SECONDS)
    with open_bridge(tmp_path) as bridge:
        events = events_of(bridge)
        assert short(events) == FIRST + LOST
        assert len({x.run for x in events}) == 1
        assert [x.links.contradicts for x in events[2:]] == [(SERVER_ID,), (TOOL_ID,)]
        reason = rf"Process {pid} on .+ had it, and ended without closing it \(seen .+\)\."
        assert all(re.fullmatch(reason, x.reason) for x in events[2:])
        bridge.list_tools("it")
        assert short(events_of(bridge)[4:]) == AGAIN
    with open_bridge(tmp_path) as bridge:
        assert short(events_of(bridge)[6:]) == LOST
        assert events_of(bridge)[6].reason == "it was closed."


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="tells no open files")
def test_a_fork_opens_the_store_again_and_breaks_nothing(tmp_path: Path):
    """SQLite: an open connection must not be carried across a fork."""
    body = f"""{HOLDS_IT}
    store = os.path.join(os.path.dirname(journal), "history.db")
    if not os.fork():
        files = [os.path.realpath("/proc/self/fd/" + x) for x in os.listdir("/proc/self/fd")]
        say(any(x.startswith(store) for x in files))
        with Bridge({{"mcpServers": {{"it": entry(**{LISTED!r})}}}}, store=store) as own:
            own.list_tools("it")
        os._exit(0)
    os.wait()
    bridge.refresh("it")
    bridge.close()
    """
    with script(tmp_path, body) as child:
        output, errors = child.communicate(timeout=END_SECONDS)
    assert (child.returncode, output.splitlines()[1:], errors) == (0, ["False"], "")
    with open_bridge(tmp_path) as bridge:
        changes = short(events_of(bridge))
        assert changes == FIRST + AGAIN + [("left", SERVER_ID), ("refreshed", SERVER_ID)] + LOST
