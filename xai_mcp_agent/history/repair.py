"""Sets a damaged SQLite file aside and copies every readable row into a new one."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import stat
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, create_engine
from sqlalchemy.exc import SQLAlchemyError

from .inventories import drop_damaged
from .migrations import NEWEST, VERSION
from .place import Place, identity_of
from .tables import RECORDS, STALE, facts

logger = logging.getLogger(__name__)

_HEAD = b"SQLite format 3\0"
_LOCK_SECONDS = 20.0
_ROWS_AT_A_TIME = 500
# So many unreadable ones in a row, some megabytes, are looked at in seconds; then it is the end.
# The number of the last row may be unreadable as well, or be anything.
_HOLE = 200_000
_LAST_ROW = 2**63 - 1
_MADE_OF_JSON = frozenset(("payload", "links", "told", "body"))
_BESIDE = ("-wal", "-shm")


def set_aside(place: Place, damaged: tuple[int, int] | None) -> bool:
    """Put a new file in the place of a damaged one, unless somebody else has done it already.

    False if that cannot be done. A file that somebody named, and that is no database at all, is
    left alone: it may be anything.
    """
    file = place.file
    if file is None or damaged is None or not (place.is_own or _is_database(file)):
        return False
    try:
        with _alone(file):
            if identity_of(file) == damaged:
                _replace(file)
    except (OSError, sqlite3.Error) as reason:
        logger.warning("%s is damaged, and cannot be set aside: %s", place.shown, reason)
        return False
    return True


def _replace(file: Path) -> None:
    aside = file.with_name(f"{file.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    new = file.with_name(f"{file.name}.new")
    new.unlink(missing_ok=True)
    new.touch(stat.S_IMODE(file.stat().st_mode))
    with closing(sqlite3.connect(file, timeout=_LOCK_SECONDS)) as damaged:
        with suppress(sqlite3.Error):  # keeps others from writing what would not be in the new one
            damaged.execute("BEGIN IMMEDIATE")
        kept = _copy(damaged, new)
        _drop_inventories(new)
        if os.name == "nt":  # where files that are open cannot be moved
            damaged.close()
        for ending in _BESIDE:  # before the file: a new one must not meet the old one's
            with suppress(FileNotFoundError):
                os.rename(f"{file}{ending}", f"{aside}{ending}")
        _keep_as(file, aside)
        os.replace(new, file)
    logger.warning(
        "The history in %s was damaged. It is set aside as %s. %s", file, aside.name,
        f"A new one is begun with the {kept} rows that can still be read."
        if kept else "Nothing in it can be read, so a new one is begun.",
    )  # fmt: skip


def _drop_inventories(new: Path) -> None:
    """Leave out those that are no more what was written; SQLite does not see that."""
    engine = create_engine(URL.create("sqlite", database=str(new)))
    with suppress(SQLAlchemyError), engine.begin() as connection:  # it may be no history
        drop_damaged(connection)
    engine.dispose()


def _keep_as(file: Path, aside: Path) -> None:
    try:
        os.link(file, aside)  # so that there is a file of that name at every moment
    except OSError:  # not on every kind of disk
        os.rename(file, aside)


def _copy(damaged: sqlite3.Connection, new: Path) -> int:
    """Every table with every row that can be read; how many rows that were."""
    kept = 0
    with closing(sqlite3.connect(new)) as copy, copy:
        try:
            made = damaged.execute("SELECT name, type, sql FROM sqlite_master").fetchall()
        except sqlite3.Error:
            return 0
        own = [x for x in made if x[2] and not x[0].startswith("sqlite_")]
        for _, _, statement in sorted(own, key=lambda x: x[1] != "table"):
            copy.execute(statement)
        for table in (name for name, kind, _ in own if kind == "table"):
            kept += _copy_table(damaged, copy, table)
        with suppress(sqlite3.Error):  # not a history
            values = f"INTO {facts.name} VALUES (?, ?)"
            copy.execute(f"INSERT OR REPLACE {values}", (RECORDS, STALE))
            # Nobody could use it without; one of an older version, damaged just there, is rare.
            copy.execute(f"INSERT OR IGNORE {values}", (VERSION, str(NEWEST)))
    return kept


def _copy_table(damaged: sqlite3.Connection, copy: sqlite3.Connection, table: str) -> int:
    columns = [(name, kind) for _, name, kind, *_ in copy.execute(f'PRAGMA table_info("{table}")')]
    marks = ", ".join("?" * len(columns))
    before = copy.total_changes
    for rows in _rows(damaged, table):
        sound = [row for row in map(partial(_mended, columns), rows) if _is_sound(row, columns)]
        copy.executemany(f'INSERT OR IGNORE INTO "{table}" VALUES ({marks})', sound)
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


def _mended(columns: Sequence[tuple[str, str]], row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without a record that is damaged: it is made anew, and its subject is needed."""
    return tuple(
        None if name == "record" and not _is_json(value) else value
        for value, (name, _) in zip(row, columns, strict=True)
    )


def _is_sound(row: Sequence[Any], columns: Sequence[tuple[str, str]]) -> bool:
    """Whether it may have been written so; SQLite does not see what is damaged within a value."""
    for value, (name, kind) in zip(row, columns, strict=True):
        if value is None:
            continue
        if "INT" in kind and not isinstance(value, int):
            return False
        if name in _MADE_OF_JSON and not _is_json(value):
            return False
    return True


def _is_json(value: Any) -> bool:
    try:
        json.loads(value)
    except (TypeError, ValueError):
        return False
    return True


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
