"""Sets a damaged SQLite file aside and copies every readable row into a new one."""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
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
from .gate import alone
from .integrity import (
    OF_FILES,
    as_text,
    columns_of,
    is_file_intact,
    is_history,
    is_sound,
    open_to_look,
    version_in,
)
from .inventories import drop_damaged
from .migrations import NEWEST, VERSION, bring_up_to_date
from .place import Place, identity_of
from .projection import rebuild_stale
from .tables import (
    LEARNED,
    RECORDS,
    STALE,
    facts,
    intents,
    learned_runs,
    metadata,
    observed_shapes,
    runs,
    vectors,
)

logger = logging.getLogger(__name__)

_HEAD = b"SQLite format 3\0"
_LOCK_SECONDS = 20.0
_ROWS_AT_A_TIME = 500
# So many unreadable ones in a row, some megabytes, are looked at in seconds; then it is the end.
# The number of the last row may be unreadable as well, or be anything.
_HOLE = 200_000
_LAST_ROW = 2**63 - 1
_CHANGED = (runs.name, intents.name, vectors.name, learned_runs.name, observed_shapes.name)
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
        with alone(file):
            if identity_of(file) == damaged:
                _replace(place, file)
    except (OSError, *OF_FILES, SQLAlchemyError) as reason:
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
        with suppress(*OF_FILES):  # keeps others from writing what would not be in the new one
            damaged.execute("BEGIN IMMEDIATE")
        with suppress(*OF_FILES):
            _know_tables(damaged)
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
    except (*OF_FILES, SQLAlchemyError) as reason:
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
        except OF_FILES:
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
        # Whoever read what runs taught before has to read all of it anew.
        copy.execute(f"DELETE FROM {facts.name} WHERE name LIKE ?", (LEARNED.format("%"),))
        # Nobody could use it without; one of an older version, damaged just there, is rare.
        copy.execute(f"INSERT OR IGNORE {values}", (VERSION, str(NEWEST)))
    return kept


def _know_tables(damaged: sqlite3.Connection) -> None:
    """Have SQLite know what our tables are like where the file does not tell any more.

    That is never kept there: the transaction, without which nothing is done, is not committed.
    """
    damaged.execute("PRAGMA writable_schema=ON")  # so that what cannot be read is passed over
    if not damaged.in_transaction or (version_in(damaged) or NEWEST) != NEWEST:
        return
    how = "UPDATE sqlite_master SET name = ?, tbl_name = ?, sql = ? WHERE ? IN (name, tbl_name)"
    dialect = sqlite.dialect()
    for table in metadata.sorted_tables:
        if {*columns_of(damaged, table.name)} != {x.name for x in table.columns}:
            made = str(CreateTable(table).compile(dialect=dialect)).strip()
            named = (table.name, table.name, made, table.name)
            damaged.execute(f"{how} AND type = 'table'", named)
    damaged.execute("PRAGMA writable_schema=RESET")  # has it read them anew
    damaged.execute("PRAGMA writable_schema=ON")


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
    for found in _rows(damaged, table.name, names) if names else ():
        if is_as_now:
            found = [row for row in map(partial(_mended, names), found) if is_sound(table, row)]
        copy.executemany(f'INSERT OR {how} INTO "{table.name}" VALUES ({marks})', found)
    return copy.total_changes - before


def _rows(
    damaged: sqlite3.Connection, table: str, names: Sequence[str]
) -> Iterator[list[tuple[Any, ...]]]:
    """The rows that can be read, some at a time."""
    # A name between double quotes would be a text where there is no such column.
    query = f'SELECT rowid, {", ".join(f"[{x}]" for x in names)} FROM "{table}" WHERE rowid'
    try:
        damaged.execute(f"{query} < 0")
    except OF_FILES as cause:
        if getattr(cause, "sqlite_errorname", None) == "SQLITE_ERROR":
            return  # there is no such table
    last, end = 0, _last_row(damaged, table)
    unread = 0
    while last < end and unread < _HOLE:
        try:
            some = damaged.execute(f"{query} > ? ORDER BY rowid LIMIT ?", (last, _ROWS_AT_A_TIME))
            found = some.fetchall()
            if not found:
                return
            last = found[-1][0]
        except OF_FILES:
            found = list(_one_by_one(damaged, query, last))
            last += _ROWS_AT_A_TIME
        unread = 0 if found else unread + _ROWS_AT_A_TIME
        yield [row[1:] for row in found]


def _one_by_one(damaged: sqlite3.Connection, query: str, last: int) -> Iterator[tuple[Any, ...]]:
    for number in range(last + 1, min(last + _ROWS_AT_A_TIME, _LAST_ROW) + 1):
        with suppress(*OF_FILES):
            yield from damaged.execute(f"{query} = ?", (number,)).fetchall()


def _last_row(damaged: sqlite3.Connection, table: str) -> int:
    """Its number; the greatest there can be if that cannot be read."""
    try:
        return damaged.execute(f'SELECT max(rowid) FROM "{table}"').fetchone()[0] or 0
    except OF_FILES:
        return _LAST_ROW


def _mended(names: Sequence[str], row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without the record of a subject, which may be damaged, and is made anew from the log."""
    return tuple(None if x == "record" else y for x, y in zip(names, row, strict=True))


def _is_database(file: Path) -> bool:
    """Whether it is one, damaged or not. SQLite is asked first.

    To open and close it here would take away the locks that this process has on it.
    """
    try:
        with closing(open_to_look(file)) as opened:
            opened.execute("PRAGMA busy_timeout=0")
            opened.execute("PRAGMA schema_version").fetchone()
            return file.stat().st_size > 0
    except OF_FILES as cause:
        if not (getattr(cause, "sqlite_errorname", None) or "").startswith("SQLITE_NOTADB"):
            return True
    except OSError:
        return False
    try:
        with file.open("rb") as opened:  # on which nobody can have a lock
            return opened.read(len(_HEAD)) == _HEAD
    except OSError:
        return False
