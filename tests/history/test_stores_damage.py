"""Whatever becomes of the file, the history works again by itself, with all that can be read."""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.databases import place_of
from tests.support.histories import rebuild, short
from tests.support.processes import wait_until
from xai_mcp_agent import StoreFailed, Tool, ToolKey
from xai_mcp_agent.core.events import Inventory, InventoryChanged, SourceConnected, SourceLost
from xai_mcp_agent.history import tables
from xai_mcp_agent.history.backup import backup_of
from xai_mcp_agent.history.gate import alone
from xai_mcp_agent.history.log import Range
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.queries import When, events_in, graph_at, records_at
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.history.repair import set_aside
from xai_mcp_agent.history.store import Store, open_store

_SECONDS = 30.0
_CALLS = 60
LOG = ToolKey("mcp", "git", "log")


@contextmanager
def history_in(place: Place) -> Generator[HistoryRecorder]:
    memory = HistoryRecorder(place, str, {"arguments"})
    try:
        yield memory
    finally:
        memory.close(_SECONDS)


def use(memory: HistoryRecorder, number: int) -> None:
    """A session with some calls, whose tools change each time."""
    memory.notice(SourceConnected("git", "stdio", "2026-07-28"))
    names = ["log", *(f"tool_{x}" for x in range(12)), f"only_{number}"]
    schema = {"type": "object", "properties": {f"p{number}": {"type": "string"}}}
    tools = tuple(Tool(ToolKey("mcp", "git", x), f"Looks at {x}.", schema) for x in names)
    memory.notice(InventoryChanged("git", Inventory("git", tools)))
    for _ in range(_CALLS):
        memory.called(LOG, 0.01, "", {"number": number})
    memory.called(LOG, 0.02, "There is no shelf 9.", {"number": number})
    memory.notice(SourceLost("git", "The server exited with code 1."))


def look(store: Store) -> int:
    """Use all that there is; how many events."""
    found = events_in(store, Range())
    for event in found[:: max(1, len(found) // 5)]:
        records_at(store, When(position=event.position))
    graph_at(store, When())
    rebuild(store)
    records_at(store, When())
    return len(found)


def works_again(place: Place, number: int) -> int:
    """Whether it does, before anybody gives up; how many events there are then."""
    with history_in(place) as memory:
        use(memory, number)

        def is_well() -> bool:
            try:
                memory.ask(look).result(_SECONDS)
            except StoreFailed:
                return False
            return not memory.trouble

        wait_until(is_well, "the history works again", _SECONDS)
        changes = short(memory.ask(lambda store: events_in(store, Range())).result(_SECONDS))
        assert changes[-1][0] == "unavailable"
        assert [x for x, _ in changes].count("called") > _CALLS
        return len(changes)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of some sessions."""
    folder = tmp_path_factory.mktemp("sound")
    with history_in(place_of("", folder)) as memory:
        for number in range(5):
            use(memory, number)
        memory.settled().result(_SECONDS)
        assert not memory.trouble
    return folder / ".xircuits"


def copied(sound: Path, folder: Path) -> tuple[Place, Path]:
    place = place_of("", folder)
    assert place.file is not None
    shutil.copytree(sound, folder / ".xircuits", dirs_exist_ok=True)
    return place, place.file


@pytest.mark.parametrize("seed", range(50))
def test_after_a_flipped_byte_the_history_works_again_by_itself(
    sound: Path, tmp_path: Path, seed: int
) -> None:
    place, file = copied(sound, tmp_path)
    data = bytearray(file.read_bytes())
    chance = random.Random(seed)
    data[chance.randrange(len(data))] ^= chance.randrange(1, 256)
    file.write_bytes(data)
    works_again(place, 9)


def a_record(file: Path) -> None:
    """No digest tells that it is damaged."""
    with closing(sqlite3.connect(file)) as opened, opened:
        opened.execute("UPDATE xai_mcp_subjects SET record = replace(record, '+00:00', '+0Y:00')")


def the_making_of_a_table(file: Path) -> None:
    """What SQLite quotes of it is no text."""
    data = file.read_bytes()
    assert data.count(b"CREATE TABLE xai_mcp_log") == 1
    file.write_bytes(data.replace(b"CREATE TABLE xai_mcp_log", b"CREATE TABLE xai_mcp_\xa4og"))


def an_index(file: Path) -> None:
    """A position in it is no number any more: SQLite goes by it, and says nothing."""
    with closing(sqlite3.connect(file)) as opened:
        name = f"sqlite_autoindex_{tables.log_rows.name}_1"
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        ((number,),) = opened.execute(query, (name,)).fetchall()
        ((size,),) = opened.execute("PRAGMA page_size").fetchall()
    data = bytearray(file.read_bytes())
    page = (number - 1) * size
    if data[page] == 2:  # it only says where the parts of the index are
        page = (int.from_bytes(data[page + 8 : page + 12]) - 1) * size
    assert data[page] == 10
    middle = page + 8 + int.from_bytes(data[page + 3 : page + 5]) // 2 * 2
    entry = page + int.from_bytes(data[middle : middle + 2])
    data[entry + 3] = 0x46
    file.write_bytes(data)


def the_version_for_writing(file: Path) -> None:
    """By which SQLite only reads it."""
    data = bytearray(file.read_bytes())
    data[18] = 248
    file.write_bytes(data)


SPOILERS = [
    a_record,
    the_making_of_a_table,
    the_version_for_writing,
]


@pytest.mark.parametrize("spoil", SPOILERS)
def test_what_is_damaged_where_it_is_hard_to_see_costs_nothing_else(
    sound: Path, tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    place, file = copied(sound, tmp_path)
    with history_in(place) as memory:
        before = memory.ask(look).result(_SECONDS)
    backup_of(file).unlink()
    spoil(file)
    assert works_again(place, 9) > before
    assert [x for x in file.parent.iterdir() if ".damaged-" in x.name]


def test_a_damaged_index_is_found_when_the_file_is_opened(sound: Path, tmp_path: Path) -> None:
    place, file = copied(sound, tmp_path)
    an_index(file)
    open_store(place).close()
    assert [x for x in file.parent.iterdir() if ".damaged-" in x.name]


def test_where_the_end_of_a_session_was_lost_it_is_over_all_the_same(
    sound: Path, tmp_path: Path
) -> None:
    place, file = copied(sound, tmp_path)
    log = tables.log_rows.name
    with closing(sqlite3.connect(file)) as opened, opened:
        newest = f"SELECT max(position) FROM {log} WHERE change = 'disconnected'"
        opened.execute(f"DELETE FROM {log} WHERE position = ({newest})")
        opened.execute("INSERT INTO xai_mcp_facts VALUES ('records', 'stale')")
    works_again(place, 9)


def test_nobody_opens_a_file_while_another_one_is_put_in_its_place(
    sound: Path, tmp_path: Path
) -> None:
    """What lies beside the old one must not meet the new one."""
    place, file = copied(sound, tmp_path)
    with ThreadPoolExecutor(1) as threads:
        with alone(file):
            opening = threads.submit(open_store, place)
            with pytest.raises(TimeoutError):
                opening.result(0.3)
        opening.result(_SECONDS).close()


def test_looking_at_a_file_leaves_the_locks_that_its_process_has_on_it(tmp_path: Path) -> None:
    """POSIX takes them all when a process closes the file, however it opened it."""
    file = tmp_path / "theirs.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as mine:
        mine.execute("CREATE TABLE notes (words)")
        mine.execute("BEGIN EXCLUSIVE")
        set_aside(place_of(file, tmp_path), (0, 0))
        other = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN')"
        other += ".execute('SELECT * FROM notes')"
        ended = subprocess.run([sys.executable, "-c", other, file], capture_output=True, text=True)
        assert "locked" in ended.stderr


def test_what_cannot_be_read_any_more_comes_from_the_backup(sound: Path, tmp_path: Path) -> None:
    place, file = copied(sound, tmp_path)
    before = works_again(place, 6)  # with which a backup is made, if there is none
    assert backup_of(file).stat().st_mode & 0o777 == 0o600
    assert {x.name for x in file.parent.glob("*backup*")} == {backup_of(file).name}
    backup_size = file.stat().st_size
    after = works_again(place, 7)
    data = file.read_bytes()
    file.write_bytes(b"\xde\xad\xbe\xef" * (backup_size // 8) + data[backup_size // 2 :])
    assert works_again(place, 8) >= before
    assert after > before
    assert [x for x in file.parent.iterdir() if ".damaged-" in x.name]


def test_a_history_that_was_deleted_does_not_come_back_from_its_backup(
    sound: Path, tmp_path: Path
) -> None:
    place, file = copied(sound, tmp_path)
    before = works_again(place, 6)
    for one in file.parent.glob("history.db*"):
        if one != backup_of(file):
            one.unlink()
    assert works_again(place, 7) < before
    assert_backup_is_of(file)


def assert_backup_is_of(file: Path) -> None:
    with closing(sqlite3.connect(backup_of(file))) as backup, closing(sqlite3.connect(file)) as now:
        query = f"SELECT min(time) FROM {tables.log_rows.name}"
        assert backup.execute(query).fetchone() == now.execute(query).fetchone()


@pytest.mark.parametrize("seed", range(8))
def test_after_the_end_of_the_file_was_lost_the_history_works_again_by_itself(
    sound: Path, tmp_path: Path, seed: int
) -> None:
    place, file = copied(sound, tmp_path)
    data = file.read_bytes()
    file.write_bytes(data[: random.Random(seed).randrange(len(data))])
    works_again(place, 9)


def nothing(file: Path) -> None:
    file.write_bytes(b"")


def a_text(file: Path) -> None:
    file.write_text("Dear diary,\n" * 1000)


def noise(file: Path) -> None:
    file.write_bytes(random.Random(1).randbytes(50_000))


def another_database(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as other, other:
        other.execute("CREATE TABLE xai_mcp_facts (something, quite, different)")
        other.execute("CREATE TABLE notes (words)")


@pytest.mark.parametrize("spoil", [nothing, a_text, noise, another_database])
def test_where_another_file_took_its_place_the_history_works_again_by_itself(
    sound: Path, tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    place, file = copied(sound, tmp_path)
    spoil(file)
    works_again(place, 9)
