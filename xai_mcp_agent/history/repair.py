"""Sets a damaged SQLite file aside and copies every readable row into a new one."""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Table
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateIndex, CreateTable

from .backup import backup_of, belongs_to
from .database import engine_for, for_writing
from .integrity import as_text, columns_of, is_file_intact, is_history, is_sound, version_in
from .inventories import drop_damaged
from .migrations import NEWEST, VERSION, bring_up_to_date
from .place import Place, identity_of
from .projection import rebuild_stale
from .tables import RECORDS, STALE, facts, intents, metadata, runs, vectors

logger = logging.getLogger(__name__)

_HEAD = b"SQLite format 3\0"
_LOCK_SECONDS = 20.0
_ROWS_AT_A_TIME = 500
# So many unreadable ones in a row, some megabytes, are looked at in seconds; then it is the end.
# The number of the last row may be unreadable as well, or be anything.
_HOLE = 200_000
_LAST_ROW = 2**63 - 1
_CHANGED = (runs.name, intents.name, vectors.name)
_BESIDE = ("-wal", "-shm")


def set_aside(place: Place, damaged: tuple[int, int] | None) -> bool:
    """Put a new file in the place of a damaged one, unless somebody else has done it already.

    False if that cannot be done. A file that somebody named, and that is no database at all, is
    left alone: it may be anything.
    """
    file = place.file
    if (
        file is None
        or damaged is None
        or not (place.is_own or _is_database(file) or backup_of(file).exists())
    ):
        return False
    try:
        with _alone(file):
            if identity_of(file) == damaged:
                _replace(place, file)
    except (OSError, sqlite3.Error, SQLAlchemyError) as reason:
        logger.warning("%s is damaged, and cannot be set aside: %s", place.shown, reason)
        return False
    return True


def _replace(place: Place, file: Path) -> None:
    aside = file.with_name(f"{file.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    new = file.with_name(f"{file.name}.new")
    new.unlink(missing_ok=True)
    new.touch(stat.S_IMODE(file.stat().st_mode))
    with closing(sqlite3.connect(file, timeout=_LOCK_SECONDS)) as damaged:
        damaged.text_factory = as_text
        with suppress(sqlite3.Error):  # keeps others from writing what would not be in the new one
            damaged.execute("BEGIN IMMEDIATE")
        is_restored = _restore(place, file, damaged, new)
        kept = _copy(damaged, new)
        _make_records(place, new)
        if os.name == "nt":  # where files that are open cannot be moved
            damaged.close()
        for ending in _BESIDE:  # before the file: a new one must not meet the old one's
            with suppress(FileNotFoundError):
                os.rename(f"{file}{ending}", f"{aside}{ending}")
        _keep_as(file, aside)
        os.replace(new, file)
    logger.warning(
        "The history in %s was damaged. It is set aside as %s. %s", file, aside.name,
        "It is restored from its backup, with all that can still be read." if is_restored
        else f"A new one is begun with the {kept} rows that can still be read." if kept
        else "Nothing in it can be read, so a new one is begun.",
    )  # fmt: skip


def _make_records(place: Place, new: Path) -> None:
    """Have all made from the log that is, in a file that may have an older version's tables."""
    if not new.stat().st_size:
        return
    engine = engine_for(replace(place, url=f"sqlite:///{new}", file=new))
    try:
        with engine.connect() as connection, for_writing(connection).begin():
            bring_up_to_date(connection)
            drop_damaged(connection)
            rebuild_stale(connection)
    finally:
        engine.dispose()
    with closing(sqlite3.connect(new)) as made:  # nothing may be left beside it
        made.execute("PRAGMA journal_mode=DELETE")


def _keep_as(file: Path, aside: Path) -> None:
    try:
        os.link(file, aside)  # so that there is a file of that name at every moment
    except OSError:  # not on every kind of disk
        os.rename(file, aside)


def _restore(place: Place, file: Path, damaged: sqlite3.Connection, new: Path) -> bool:
    """Begin the new file with the last backup, if it is of this one; whether it is."""
    if not backup_of(file).exists():
        return False
    try:
        with (
            closing(sqlite3.connect(backup_of(file))) as backup,
            closing(sqlite3.connect(new)) as x,
        ):
            is_ours = is_history(backup) and belongs_to(backup, damaged)
            if is_ours:
                backup.backup(x)
        if is_ours and is_file_intact(new):
            _make_records(place, new)
            return True
    except (sqlite3.Error, SQLAlchemyError) as reason:
        logger.warning("The backup of %s cannot be used: %s", file, reason)
    # It may be anything; and whoever finds one beside a file without a history asks for it.
    os.replace(backup_of(file), file.with_name(f"{file.name}.damaged-backup"))
    new.write_bytes(b"")
    return False


def _copy(damaged: sqlite3.Connection, new: Path) -> int:
    """Every table with every row that can be read; how many rows that were."""
    kept = 0
    with closing(sqlite3.connect(new)) as copy, copy:
        try:
            made = damaged.execute("SELECT name, type, sql FROM sqlite_master").fetchall()
            if not is_history(damaged):
                return 0
        except sqlite3.Error:
            return 0
        is_older = (version_in(damaged) or NEWEST) < NEWEST
        if not is_history(copy):
            for statement in _statements(made) if is_older else _our_statements():
                copy.execute(statement)
        elif is_older:
            return 0  # what it has is in the backup, as it was before it was brought up to date
        for table in metadata.sorted_tables:
            kept += _copy_table(damaged, copy, table)
        values = f"INTO {facts.name} VALUES (?, ?)"
        copy.execute(f"INSERT OR REPLACE {values}", (RECORDS, STALE))
        # Nobody could use it without; one of an older version, damaged just there, is rare.
        copy.execute(f"INSERT OR IGNORE {values}", (VERSION, str(NEWEST)))
    return kept


def _statements(made: list[tuple[str, str, str]]) -> list[str]:
    """What made the tables and indexes of an older version."""
    own = [x for x in made if x[2] and not x[0].startswith("sqlite_")]
    return [x[2] for x in sorted(own, key=lambda x: x[1] != "table")]


def _our_statements() -> list[str]:
    """What makes those of this version: the damaged file may tell them wrongly."""
    dialect, made = sqlite.dialect(), list[str]()
    for table in metadata.sorted_tables:
        made.append(str(CreateTable(table).compile(dialect=dialect)))
        indexes = sorted(table.indexes, key=lambda x: str(x.name))
        made += (str(CreateIndex(x).compile(dialect=dialect)) for x in indexes)
    return made


def _copy_table(damaged: sqlite3.Connection, copy: sqlite3.Connection, table: Table) -> int:
    names = columns_of(copy, table.name)
    is_as_now = names == [x.name for x in table.columns]
    marks = ", ".join("?" * len(names))
    before = copy.total_changes
    # What is changed, and not only added to, is older in a backup.
    how = "REPLACE" if table.name in _CHANGED else "IGNORE"
    for rows in _rows(damaged, table.name) if names else ():
        found = (row for row in rows if len(row) == len(names))
        if is_as_now:
            found = (row for row in map(partial(_mended, names), found) if is_sound(table, row))
        copy.executemany(f'INSERT OR {how} INTO "{table.name}" VALUES ({marks})', found)
    return copy.total_changes - before


def _rows(damaged: sqlite3.Connection, table: str) -> Iterator[list[tuple[Any, ...]]]:
    """The rows that can be read, some at a time."""
    last, end = 0, _last_row(damaged, table)
    unread = 0
    while last < end and unread < _HOLE:
        try:
            query = f'SELECT rowid, * FROM "{table}" WHERE rowid > ? ORDER BY rowid LIMIT ?'
            found = damaged.execute(query, (last, _ROWS_AT_A_TIME)).fetchall()
            if not found:
                return
            last = found[-1][0]
        except sqlite3.Error:
            found = list(_one_by_one(damaged, table, last))
            last += _ROWS_AT_A_TIME
        unread = 0 if found else unread + _ROWS_AT_A_TIME
        yield [row[1:] for row in found]


def _one_by_one(damaged: sqlite3.Connection, table: str, last: int) -> Iterator[tuple[Any, ...]]:
    for number in range(last + 1, min(last + _ROWS_AT_A_TIME, _LAST_ROW) + 1):
        with suppress(sqlite3.Error):
            query = f'SELECT rowid, * FROM "{table}" WHERE rowid = ?'
            yield from damaged.execute(query, (number,)).fetchall()


def _last_row(damaged: sqlite3.Connection, table: str) -> int:
    """Its number; the greatest there can be if that cannot be read."""
    try:
        return damaged.execute(f'SELECT max(rowid) FROM "{table}"').fetchone()[0] or 0
    except sqlite3.Error:
        return _LAST_ROW


def _mended(names: Sequence[str], row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without the record of a subject, which may be damaged, and is made anew from the log."""
    return tuple(None if x == "record" else y for x, y in zip(names, row, strict=True))


def _is_database(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(len(_HEAD)) == _HEAD
    except OSError:
        return False


@contextmanager
def _alone(file: Path) -> Generator[None]:
    """One process at a time; a lock of SQLite's own is one on every system."""
    gate = file.with_name(f"{file.name}.gate")
    with closing(sqlite3.connect(gate, timeout=_LOCK_SECONDS, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield
    gate.unlink(missing_ok=True)
