"""A damaged file is replaced by its backup, and the history recovers by itself."""

from __future__ import annotations

import logging
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.databases import place_of
from tests.support.histories import rebuild, recorded_events, recorder_in, short
from tests.support.processes import wait_until
from xai_mcp_agent import StoreFailed, Tool, ToolKey
from xai_mcp_agent.core.events import Inventory, InventoryChanged, SourceConnected, SourceLost
from xai_mcp_agent.history import backup
from xai_mcp_agent.history.backup import backup_of, set_aside
from xai_mcp_agent.history.history import History
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.recorder import HistoryRecorder

_SECONDS = 30.0
_CALLS = 60
LOG = ToolKey("mcp", "git", "log")


def use(recorder: HistoryRecorder, number: int) -> None:
    """A session with some calls, whose tools change each time."""
    recorder.notice(SourceConnected("git", "stdio", "2026-07-28"))
    names = ["log", *(f"tool_{x}" for x in range(12)), f"only_{number}"]
    schema = {"type": "object", "properties": {f"p{number}": {"type": "string"}}}
    tools = tuple(Tool(ToolKey("mcp", "git", x), f"Looks at {x}.", schema) for x in names)
    recorder.notice(InventoryChanged("git", Inventory("git", tools)))
    for _ in range(_CALLS):
        recorder.record_call(LOG, 0.01, "", {"number": number})
    recorder.record_call(LOG, 0.02, "There is no shelf 9.", {"number": number})
    recorder.notice(SourceLost("git", "The server exited with code 1."))


def look(store: History) -> int:
    """Run all queries of the store; return the number of events."""
    events = store.events()
    for event in events[:: max(1, len(events) // 5)]:
        store.records(event.position)
    store.graph()
    records = store.records()
    rebuild(store)
    assert store.records() == records
    return len(events)


def works_again(place: Place, number: int) -> int:
    """Use the history until it works; return the number of events then."""
    with recorder_in(place) as recorder:
        use(recorder, number)

        def is_well() -> bool:
            try:
                recorder.ask(look).result(_SECONDS)
            except StoreFailed:
                return False
            return not recorder.trouble

        wait_until(is_well, "the history works again", _SECONDS)
        changes = short(recorded_events(recorder))
        assert changes[-1][0] == "unavailable"
        assert [x for x, _ in changes].count("called") > _CALLS
        return len(changes)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of some sessions."""
    folder = tmp_path_factory.mktemp("sound")
    with recorder_in(place_of("", folder)) as recorder:
        for number in range(5):
            use(recorder, number)
        recorder.flush().result(_SECONDS)
        assert not recorder.trouble
    return folder / ".xircuits"


def copy_of(sound: Path, folder: Path) -> tuple[Place, Path]:
    place = place_of("", folder)
    assert place.file is not None
    shutil.copytree(sound, folder / ".xircuits", dirs_exist_ok=True)
    return place, place.file


def flip_bytes(file: Path):
    """Flip bytes as a failing disk does."""
    data, chance = bytearray(file.read_bytes()), random.Random(1)
    for _ in range(20):
        data[chance.randrange(len(data))] ^= chance.randrange(1, 256)
    file.write_bytes(data)


def break_the_table(file: Path) -> None:
    """Break the schema so that SQLite's own error message is not valid text."""
    data, table = file.read_bytes(), b"CREATE TABLE xai_mcp_events"
    assert data.count(table) == 1
    file.write_bytes(data.replace(table, table.replace(b"events", b"\xa4vents")))


def lose_a_table(file: Path) -> None:
    """Lose an entry of the schema: SQLite says only that there is no such table."""
    with closing(sqlite3.connect(file)) as opened, opened:
        opened.execute("PRAGMA writable_schema = ON")
        opened.execute("DELETE FROM sqlite_master WHERE tbl_name = 'xai_mcp_events'")


def break_a_payload(file: Path) -> None:
    """Break JSON in rows, which SQLite's check does not notice."""
    with closing(sqlite3.connect(file)) as opened, opened:
        opened.execute("UPDATE xai_mcp_events SET payload = '{' WHERE payload IS NOT NULL")


def break_a_snapshot(file: Path) -> None:
    """Break the newest snapshot, from which every process starts."""
    with closing(sqlite3.connect(file)) as opened, opened:
        opened.execute("DELETE FROM xai_mcp_snapshots")
        row = "SELECT 1, max(position), 1, x'00' FROM xai_mcp_events"
        opened.execute(f"INSERT INTO xai_mcp_snapshots {row}")


@pytest.mark.parametrize(
    ("spoil", "has_backup"),
    [
        (flip_bytes, True), (break_the_table, True), (lose_a_table, True),
        (break_a_payload, True), (break_a_snapshot, False),
    ],
)  # fmt: skip
def test_a_damaged_file_is_set_aside_and_its_backup_takes_its_place(
    sound: Path, tmp_path: Path, spoil: Callable[[Path], object], has_backup: bool,
    caplog: pytest.LogCaptureFixture,
):  # fmt: skip
    place, file = copy_of(sound, tmp_path)
    with recorder_in(place) as recorder:
        before = recorder.ask(look).result(_SECONDS)
    if not has_backup:
        backup_of(file).unlink()
    spoil(file)
    assert (works_again(place, 9) > before) == has_backup
    asides = [
        x.name for x in file.parent.glob("*.damaged-*") if not x.name.endswith(("wal", "shm"))
    ]
    warnings = [x.getMessage() for x in caplog.records if x.levelno >= logging.WARNING]
    assert [f"It is set aside as {x}" in y for x in asides for y in warnings if x in y] == [True]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_checking_a_file_keeps_the_locks_of_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """POSIX releases all locks of a process on a file when it closes any descriptor of it."""
    monkeypatch.setattr(backup, "_BUSY_SECONDS", 0.1)
    file = tmp_path / "theirs.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as mine:
        mine.execute("CREATE TABLE notes (words)")
        mine.execute("BEGIN EXCLUSIVE")
        set_aside(place_of(file, tmp_path), (0, 0))
        other = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0)"
        other += ".execute('SELECT * FROM notes')"
        reader = subprocess.run([sys.executable, "-c", other, file], capture_output=True, text=True)
        assert "locked" in reader.stderr


def test_a_deleted_history_does_not_come_back_from_its_backup(sound: Path, tmp_path: Path):
    place, file = copy_of(sound, tmp_path)
    before = works_again(place, 6)
    for one in file.parent.glob("history.db*"):
        if one != backup_of(file):
            one.unlink()
    assert works_again(place, 7) < before
    first = "SELECT min(time) FROM xai_mcp_events"
    with closing(sqlite3.connect(backup_of(file))) as copy, closing(sqlite3.connect(file)) as now:
        assert copy.execute(first).fetchone() == now.execute(first).fetchone()
