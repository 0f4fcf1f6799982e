"""The store fails: the agent goes on with one warning, and nothing is lost.

Real failures of real databases; each message names the place and the next step.
"""

from __future__ import annotations

import logging
import resource
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.databases import Server, place_of
from tests.support.histories import call_numbers, recorded_events, recorder_in
from tests.support.processes import free_port, printed_without_rights, wait_until
from xai_mcp_agent import StoreFailed, Tool, ToolKey
from xai_mcp_agent.core.events import Inventory, InventoryChanged, SourceConnected
from xai_mcp_agent.history import database, store
from xai_mcp_agent.history.history import History, open_history
from xai_mcp_agent.history.recording import writer
from xai_mcp_agent.history.recording.recorder import HistoryRecorder

_SECONDS = 30.0
TOOLS = tuple(
    Tool(ToolKey("mcp", "git", name), "Looks.", {"type": "object"}) for name in ("log", "show")
)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer tries again soon."""
    monkeypatch.setattr(writer, "_CALLS_SECONDS", 0.05)
    monkeypatch.setattr(writer, "_FIRST_PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(writer, "_LONGEST_PAUSE_SECONDS", 0.2)
    monkeypatch.setattr(database, "LOCK_SECONDS", 0.2)
    monkeypatch.setattr(store, "LOCK_SECONDS", 0.2)


def connect(recorder: HistoryRecorder) -> None:
    recorder.notice(SourceConnected("git", "stdio", "2026-07-28"))
    list_tools(recorder, *TOOLS)


def list_tools(recorder: HistoryRecorder, *tools: Tool) -> None:
    recorder.notice(InventoryChanged("git", Inventory("git", tools)))


def call(recorder: HistoryRecorder, *numbers: int) -> None:
    for number in numbers:
        recorder.record_call(ToolKey("mcp", "git", "log"), 0.01, "", {"number": number})


def settle(recorder: HistoryRecorder) -> None:
    """Wait until the store works (again) and all reports are written."""

    def is_settled() -> bool:
        try:
            recorder.flush().result(_SECONDS)
        except StoreFailed:
            return False
        return True

    wait_until(is_settled, "all reports are written", _SECONDS)


def wait_for_trouble(recorder: HistoryRecorder) -> str:
    wait_until(lambda: bool(recorder.trouble), "the trouble is noticed", _SECONDS)
    return recorder.trouble


def refused(recorder: HistoryRecorder) -> StoreFailed:
    """Return the error that a question gets at once while the store fails."""
    answer = recorder.ask(lambda store: store.events())
    assert answer.done()
    reason = answer.exception()
    assert isinstance(reason, StoreFailed)
    return reason


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [x.getMessage() for x in caplog.records if x.levelno >= logging.WARNING]


# Stores that cannot be opened


def problem_of(name: str | Path, folder: Path) -> StoreFailed:
    with pytest.raises(StoreFailed) as caught:
        open_history(place_of(name, folder))
    assert caught.value.next_step
    assert "s3cret" not in str(caught.value)
    return caught.value


def test_an_invalid_or_unreachable_address_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for rest in ("me:s3cret@host:port/db", "me:s3cret/@host/db", ""):
        next_step = problem_of(f"postgresql://{rest}", tmp_path).next_step
        assert next_step.startswith(("Write postgresql://", "Correct", "St"))
    reason = problem_of(f"postgresql://me:s3cret@127.0.0.1:{free_port()}/db", tmp_path)
    assert "refused" in str(reason)
    assert "127.0.0.1" in reason.place
    monkeypatch.setitem(sys.modules, "psycopg", None)
    reason = problem_of("postgresql://me:s3cret@127.0.0.1/db", tmp_path)
    assert 'pip install "xai-mcp-agent[postgres]"' in reason.next_step


def test_an_unknown_user_or_database_is_reported(postgresql: Server, tmp_path: Path):
    assert 'database "none"' in problem_of(postgresql.url("none"), tmp_path).problem
    stranger = postgresql.url().replace("tests@", "stranger:s3cret@")
    assert "stranger" in problem_of(stranger, tmp_path).problem


def test_a_newer_database_or_another_file_is_not_changed(tmp_path: Path):
    """The configured file may be anything."""
    notes = tmp_path / "notes.txt"
    notes.write_text("mine " * 1000)
    assert "no database" in problem_of(notes, tmp_path).problem
    assert [x.name for x in tmp_path.iterdir()] == ["notes.txt"]
    place = place_of("", tmp_path)
    open_history(place).close()
    assert place.file is not None
    with closing(sqlite3.connect(place.file)) as connection, connection:
        connection.execute("UPDATE xai_mcp_facts SET value = '99' WHERE name = 'version'")
    reason = problem_of("", tmp_path)
    assert "newer version" in reason.problem
    assert "pip install --upgrade xai-mcp-agent" in reason.next_step


def test_a_read_only_folder_is_reported():
    folder = Path(tempfile.mkdtemp(prefix="xai-history-"))
    folder.chmod(0o555)

    def record() -> None:
        recorder = HistoryRecorder(place_of("", folder), str)
        connect(recorder)
        print(recorder.flush().exception(_SECONDS))

    reason = printed_without_rights(record)
    shutil.rmtree(folder)
    assert "is not writable" in reason
    assert "or name another place with XAI_MCP_STORE" in reason


# Failures during use


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    """Simulate a full disk: this process cannot write beyond `size` bytes in a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_reports_wait_while_the_disk_is_full(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with recorder_in(place_of("", tmp_path)) as recorder:
        connect(recorder)
        call(recorder, 1)
        settle(recorder)
        with files_no_longer_than(100_000):
            list_tools(recorder, *TOOLS, Tool(ToolKey("mcp", "git", "long"), "x" * 200_000, {}))
            call(recorder, 2)
            wait_for_trouble(recorder)
            call(recorder, 3)
            assert "disk" in refused(recorder).problem
        settle(recorder)
        assert call_numbers(recorded_events(recorder)) == [1, 2, 3]
        assert recorder.trouble == ""
    (line,) = warnings(caplog)
    assert "history.db" in line
    assert "The agent goes on" in line


def is_removed(folder: Path) -> bool:
    """Try to remove the folder; a backup may be written into it meanwhile."""
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def test_a_new_file_replaces_one_that_was_deleted_during_use(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    """The old events stay deleted; sources connected now are in the new file."""
    with recorder_in(place_of("", tmp_path)) as recorder:
        connect(recorder)
        call(recorder, 1)
        settle(recorder)
        wait_until(lambda: is_removed(tmp_path / ".xircuits"), "the folder is gone", _SECONDS)
        call(recorder, 2)
        settle(recorder)
        changes = [x.change for x in recorded_events(recorder)]
        assert changes == ["connected", "discovered", "discovered", "called"]
        assert call_numbers(recorded_events(recorder)) == [2]
    assert ["deleted" in x for x in warnings(caplog)] == [True]


def test_a_restarted_server_gets_the_missing_reports(
    postgresql: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    url = postgresql.new_database().replace("tests@", "tests:s3cret@")
    with recorder_in(place_of(url, tmp_path)) as recorder:
        connect(recorder)
        call(recorder, 1)
        settle(recorder)
        postgresql.stop()
        try:
            call(recorder, 2)
            wait_for_trouble(recorder)
            call(recorder, 3)
            assert refused(recorder).next_step
        finally:
            postgresql.start()
        settle(recorder)
        assert call_numbers(recorded_events(recorder)) == [1, 2, 3]
        positions = [x.position for x in recorded_events(recorder)]
        assert positions == list(range(1, len(positions) + 1))
        assert len({x.run for x in recorded_events(recorder)}) == 1
    assert warnings(caplog)
    assert not any("s3cret" in x for x in warnings(caplog))


# As on network drives without locks, where another process may take the same position.
TAKEN = """CREATE TRIGGER taken BEFORE INSERT ON xai_mcp_events
BEGIN SELECT RAISE(ABORT, 'UNIQUE constraint failed: position'); END"""


@pytest.mark.parametrize(
    ("block", "unblock", "words"),
    [("BEGIN IMMEDIATE", "COMMIT", "locked"), (TAKEN, "DROP TRIGGER taken", "UNIQUE")],
    ids=["the file is locked", "another process takes the position"],
)
def test_reports_wait_while_another_program_prevents_writing(
    tmp_path: Path, block: str, unblock: str, words: str
):
    place = place_of("", tmp_path)
    with recorder_in(place) as recorder:
        connect(recorder)
        settle(recorder)
        assert place.file is not None
        with closing(sqlite3.connect(place.file, isolation_level=None)) as other:
            other.execute(block)
            call(recorder, 1000)
            assert words in wait_for_trouble(recorder)
            other.execute(unblock)
        settle(recorder)
        assert call_numbers(recorded_events(recorder)) == [1000]


# The writer


def test_a_bug_of_ours_is_not_reported_as_damage(tmp_path: Path):
    """The error is raised unchanged, and the file, which may be large, is not checked."""

    def mistaken(store: History) -> None:
        with store.reading():
            raise KeyError("ours")

    with recorder_in(place_of("", tmp_path)) as recorder:
        with pytest.raises(KeyError, match="ours"):
            recorder.ask(mistaken).result(_SECONDS)
        call(recorder, 1000)
        assert call_numbers(recorded_events(recorder)) == [1000]
    assert not [*tmp_path.glob(".xircuits/*.damaged-*")]


def test_waiting_reports_do_not_fill_the_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    """The oldest are dropped, with a warning."""
    monkeypatch.setattr(writer, "_MOST_WAITING", 100)
    folder = tmp_path / ".xircuits"
    folder.write_text("not a folder")
    with recorder_in(place_of("", tmp_path)) as recorder:
        call(recorder, *range(250))
        wait_for_trouble(recorder)
        wait_until(lambda: len(warnings(caplog)) > 1, "the warning appears", _SECONDS)
        folder.unlink()
        settle(recorder)
        assert call_numbers(recorded_events(recorder)) == list(range(150, 250))
    assert [x for x in warnings(caplog) if "dropped" in x]
    assert warnings(caplog)[-1].startswith("150 events could not")
    caplog.clear()
    (tmp_path / "file").write_text("not a folder")
    with recorder_in(place_of(tmp_path / "file" / "history.db", tmp_path)) as recorder:
        call(recorder, 1, 2, 3)
        wait_for_trouble(recorder)
    lines = [x for x in warnings(caplog) if not x.startswith("Calls cannot be noted")]
    assert len(lines) == 2
    assert lines[1].startswith("3 events could not"), "at the end"
