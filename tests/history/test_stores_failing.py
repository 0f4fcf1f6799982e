"""The place of the history fails: the agent goes on, it is said once, and nothing is lost.

Real failures of real databases; what a person reads names the place and the next step.
"""

from __future__ import annotations

import logging
import os
import resource
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.databases import Server, place_of
from tests.support.histories import rebuild, recorder_in
from tests.support.processes import free_port, wait_until
from xai_mcp_agent import Bridge, Event, Records, StoreFailed, Subject, Tool, ToolKey
from xai_mcp_agent.core.events import Inventory, InventoryChanged, SourceConnected
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history import database, store
from xai_mcp_agent.history.backup import backup_of
from xai_mcp_agent.history.history import History, open_history
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording import writer
from xai_mcp_agent.history.recording.recorder import HistoryRecorder

_SECONDS = 30.0
_NOBODY = 65534
GIT = Subject(MCP, "git")
TOOLS = tuple(
    Tool(ToolKey("mcp", "git", name), "Looks.", {"type": "object"}) for name in ("log", "show")
)


def connect(memory: HistoryRecorder, tools: tuple[Tool, ...] = TOOLS) -> None:
    memory.notice(SourceConnected("git", "stdio", "2026-07-28"))
    list_tools(memory, *tools)


def list_tools(memory: HistoryRecorder, *tools: Tool) -> None:
    memory.notice(InventoryChanged("git", Inventory("git", tools)))


def call(memory: HistoryRecorder, *numbers: int, words: str = "") -> None:
    for number in numbers:
        memory.called(ToolKey("mcp", "git", "log"), 0.01, "", {"number": number, "words": words})


def settle(memory: HistoryRecorder) -> None:
    """Wait until it works (again), and all is written down."""

    def is_settled() -> bool:
        try:
            memory.settled().result(_SECONDS)
        except StoreFailed:
            return False
        return True

    wait_until(is_settled, "all is written down", _SECONDS)


def wait_for_trouble(memory: HistoryRecorder) -> str:
    wait_until(lambda: bool(memory.trouble), "the trouble is noticed", _SECONDS)
    return memory.trouble


def refused(memory: HistoryRecorder) -> StoreFailed:
    """What a question is answered while there is trouble: at once."""
    answer = memory.ask(lambda store: store.events())
    assert answer.done()
    reason = answer.exception()
    assert isinstance(reason, StoreFailed)
    return reason


def events(memory: HistoryRecorder) -> list[Event]:
    return memory.ask(lambda store: store.events()).result(_SECONDS)


def numbers(found: list[Event]) -> list[int]:
    return [x.payload["arguments"]["number"] for x in found if x.change == "called"]


def records(memory: HistoryRecorder) -> Records:
    return memory.ask(lambda store: store.records()).result(_SECONDS)


def assert_records_are_what_the_log_comes_to(memory: HistoryRecorder) -> None:
    kept = records(memory)
    memory.ask(rebuild).result(_SECONDS)
    assert kept == records(memory)


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [x.getMessage() for x in caplog.records if x.levelno >= logging.WARNING]


def lasting(folder: Path) -> Place:
    """A store that has some events already."""
    place = place_of("", folder)
    with recorder_in(place) as memory:
        connect(memory)
        call(memory, *range(400), words="x" * 200)
        settle(memory)
    return place


# What cannot be opened


def problem_of(given: str | Path, folder: Path) -> StoreFailed:
    with pytest.raises(StoreFailed) as caught:
        open_history(place_of(given, folder))
    assert caught.value.next_step
    assert "s3cret" not in str(caught.value)
    return caught.value


def test_a_server_that_nobody_started_is_named_without_its_password(tmp_path: Path) -> None:
    reason = problem_of(f"postgresql://me:s3cret@127.0.0.1:{free_port()}/db", tmp_path)
    assert "refused" in str(reason)
    assert "127.0.0.1" in reason.place


def test_an_address_that_is_invalid_is_reported(tmp_path: Path) -> None:
    cases: list[str] = [
        "postgresql://me:s3cret@host:port/db",
        "postgresql://me:s3cret/@host/db",
        "postgresql://",
    ]
    for url in cases:
        assert problem_of(url, tmp_path).next_step.startswith(
            ("Write postgresql://", "Correct", "St")
        )


def test_a_user_and_a_database_that_are_not_there_are_reported(
    postgresql: Server, tmp_path: Path
) -> None:
    assert 'database "none"' in problem_of(postgresql.url("none"), tmp_path).problem
    stranger = postgresql.url().replace("tests@", "stranger:s3cret@")
    assert "stranger" in problem_of(stranger, tmp_path).problem


def test_a_driver_that_is_missing_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    reason = problem_of("postgresql://me:s3cret@127.0.0.1/db", tmp_path)
    assert 'pip install "xai-mcp-agent[postgres]"' in reason.next_step


def test_a_store_of_a_newer_version_is_left_as_it_is(tmp_path: Path) -> None:
    place = lasting(tmp_path)
    assert place.file is not None
    with closing(sqlite3.connect(place.file)) as connection, connection:
        connection.execute("UPDATE xai_mcp_facts SET value = '99' WHERE name = 'version'")
    reason = problem_of("", tmp_path)
    assert "newer version" in reason.problem
    assert "pip install --upgrade xai-mcp-agent" in reason.next_step


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    """Somebody may have named any file."""
    notes = tmp_path / "notes.txt"
    notes.write_text("mine " * 1000)
    assert "no database" in problem_of(notes, tmp_path).problem
    assert [x.name for x in tmp_path.iterdir()] == ["notes.txt"]


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that others than its owner can reach, too."""
    folder = Path(tempfile.mkdtemp(prefix="xai-history-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def problem_without_rights(place: Place) -> str:
    """What is said to somebody who may only read there."""

    def problem() -> str:
        memory = HistoryRecorder(place, str)
        connect(memory)
        return str(memory.settled().exception(_SECONDS))

    return without_rights(problem)


def without_rights(do: Callable[[], str]) -> str:
    """What somebody says who may only read there; root may do everything."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
        try:
            said = do()
        except BaseException as reason:  # noqa: BLE001 - whoever waits has it told
            said = repr(reason)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        said = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return said


def test_a_folder_that_may_only_be_read_is_reported(shared_folder: Path) -> None:
    shared_folder.chmod(0o555)
    said = problem_without_rights(place_of("", shared_folder))
    assert "is not writable" in said
    assert "or name another place with XAI_MCP_STORE" in said


def test_a_file_that_may_only_be_read_is_read_from_python(
    shared_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files may be a backup's, or another person's."""
    monkeypatch.chdir(shared_folder)
    file = shared_folder / "h.db"
    with recorder_in(place_of(str(file), shared_folder)) as memory:
        connect(memory)
        call(memory, 1)
    wanted = said_by_bridge(file)
    file.chmod(0o444)
    shared_folder.chmod(0o555)
    assert without_rights(lambda: said_by_bridge(file)) == wanted


def said_by_bridge(file: Path) -> str:
    """What the public face tells of it."""
    with Bridge({"mcpServers": {}}, store=file) as bridge:
        newest = bridge.history(limit=1)[0]
        tools = len(bridge.records().tools)
        past = len(bridge.records(at=newest.position - 1).tools)
        nodes = len(bridge.graph().nodes)
        return f"{newest.change} {newest.position} {tools} {past} {nodes}"


# What fails while it is used


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    """As on a disk that is full: writing beyond that fails, for all of this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_what_was_reported_while_the_disk_was_full_is_written_when_there_is_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with recorder_in(place_of("", tmp_path)) as memory:
        connect(memory)
        call(memory, 1)
        settle(memory)
        with files_no_longer_than(100_000):
            list_tools(memory, *TOOLS, Tool(ToolKey("mcp", "git", "long"), "x" * 200_000, {}))
            call(memory, 2)
            wait_for_trouble(memory)
            call(memory, 3)
            assert "disk" in refused(memory).problem
        settle(memory)
        assert numbers(events(memory)) == [1, 2, 3]
        assert memory.trouble == ""
        assert_records_are_what_the_log_comes_to(memory)
    (line,) = said(caplog)
    assert "history.db" in line
    assert "The agent goes on" in line


def is_removed(folder: Path) -> bool:
    """Whether it is, after trying: a copy may be made in it just now."""
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def test_a_file_that_is_deleted_while_it_is_used_is_begun_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever deletes it wants it gone; what is connected now is known in the new one."""
    place = place_of("", tmp_path)
    with recorder_in(place) as memory:
        connect(memory)
        call(memory, 1)
        settle(memory)
        wait_until(lambda: is_removed(tmp_path / ".xircuits"), "the folder is gone", _SECONDS)
        call(memory, 2)
        settle(memory)
        found = events(memory)
        assert [x.change for x in found] == ["connected", "discovered", "discovered", "called"]
        assert numbers(found) == [2]
        assert records(memory).sources[GIT].is_connected
    assert ["deleted" in x for x in said(caplog)] == [True]


def test_a_server_that_is_started_again_gets_what_it_missed(
    postgresql: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = postgresql.new_database().replace("tests@", "tests:s3cret@")
    with recorder_in(place_of(url, tmp_path)) as memory:
        connect(memory)
        call(memory, 1)
        settle(memory)
        postgresql.stop()
        try:
            call(memory, 2)
            wait_for_trouble(memory)
            call(memory, 3)
            assert refused(memory).next_step
        finally:
            postgresql.start()
        settle(memory)
        found = events(memory)
        assert numbers(found) == [1, 2, 3]
        assert [x.position for x in found] == list(range(1, len(found) + 1))
        assert len({x.run for x in found}) == 1
    assert said(caplog)
    assert not any("s3cret" in x for x in said(caplog))


@contextmanager
def locked_by_another_program(place: Place) -> Iterator[tuple[HistoryRecorder, sqlite3.Connection]]:
    """A memory that was in use before; the other one ends its transaction when it likes."""
    assert place.file is not None
    with (
        recorder_in(place) as memory,
        closing(sqlite3.connect(place.file, isolation_level=None)) as other,
    ):
        connect(memory)
        settle(memory)
        other.execute("BEGIN IMMEDIATE")
        yield memory, other


def test_a_file_that_another_program_keeps_locked_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_SECONDS", 0.2)
    monkeypatch.setattr(store, "LOCK_SECONDS", 0.2)
    with locked_by_another_program(lasting(tmp_path)) as (memory, other):
        call(memory, 1000)
        assert "locked" in wait_for_trouble(memory)
        other.execute("COMMIT")
        settle(memory)
        assert numbers(events(memory))[-1] == 1000


# Damage


def spoil(file: Path, begin: int, end: int | None = None) -> None:
    """Overwrite a part of a file, as a disk does that goes bad."""
    size = file.stat().st_size
    end = size if end is None else min(end, size)
    with file.open("r+b") as opened:
        opened.seek(begin)
        opened.write(b"\xde\xad\xbe\xef" * ((end - begin) // 4))


def asides(folder: Path) -> list[Path]:
    return [x for x in folder.glob(".xircuits/*.damaged-*") if not x.name.endswith(("wal", "shm"))]


@pytest.mark.parametrize("has_backup", [True, False])
def test_a_damaged_file_is_set_aside_and_its_backup_takes_its_place(
    tmp_path: Path, has_backup: bool, caplog: pytest.LogCaptureFixture
) -> None:
    place = lasting(tmp_path)
    assert place.file is not None
    if not has_backup:
        backup_of(place.file).unlink()
    spoil(place.file, 4096 * 9, 4096 * 15)
    with recorder_in(place) as memory:
        connect(memory)
        memory.ask(lambda history: history.events()).exception(_SECONDS)
        call(memory, 1000)
        settle(memory)
        settle(memory)
        kept = numbers(events(memory))
        assert kept == [*(range(400) if has_backup else []), 1000]
        assert_records_are_what_the_log_comes_to(memory)
    (aside,) = asides(tmp_path)
    assert b"\xde\xad\xbe\xef" in aside.read_bytes()
    assert any(f"It is set aside as {aside.name}" in x for x in said(caplog))


# The writer


def test_a_mistake_of_ours_is_not_taken_for_a_damaged_disk(tmp_path: Path) -> None:
    """It is raised as it is, and nobody reads the whole file, which may be large, because of it."""
    place = lasting(tmp_path)
    assert place.file is not None

    def mistaken(store: History) -> None:
        with store.reading():
            raise KeyError("ours")

    with recorder_in(place) as memory:
        with pytest.raises(KeyError, match="ours"):
            memory.ask(mistaken).result(_SECONDS)
        call(memory, 1000)
        assert numbers(events(memory))[-1] == 1000
    assert asides(tmp_path) == []


def test_what_waits_does_not_fill_the_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest is kept, and it is said that the oldest is not."""
    monkeypatch.setattr(writer, "_MOST_WAITING", 100)
    folder = tmp_path / ".xircuits"
    folder.write_text("not a folder")
    with recorder_in(place_of("", tmp_path)) as memory:
        call(memory, *range(250))
        wait_for_trouble(memory)
        wait_until(lambda: len(said(caplog)) > 1, "it is said", _SECONDS)
        folder.unlink()
        settle(memory)
        assert numbers(events(memory)) == list(range(150, 250))
    assert [x for x in said(caplog) if "dropped" in x]
    assert said(caplog)[-1].startswith("150 events could not")


def test_what_cannot_be_written_at_the_end_is_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("not a folder")
    with recorder_in(place_of(tmp_path / "file" / "history.db", tmp_path)) as memory:
        call(memory, 1, 2, 3)
        wait_for_trouble(memory)
    told = [x for x in said(caplog) if not x.startswith("Calls cannot be noted")]
    assert len(told) == 2
    assert told[1].startswith("3 events could not")
