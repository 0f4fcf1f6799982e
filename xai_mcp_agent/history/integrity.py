"""Whether what is in an SQLite file may have been written so: page by page, and row by row."""

from __future__ import annotations

import math
import sqlite3
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, cast, get_args

from sqlalchemy import Column, Float, Integer, LargeBinary, Table, TypeDecorator
from sqlalchemy.dialects import sqlite

from ..core.tools import kind_named
from . import inventories, learned_calls, log, projection, tables
from .event import Change, Event, EventKind, Links, Subject, Teller
from .gate import wait_until_free
from .migrations import NEWEST, VERSION
from .packing import Inventory, bundle_from
from .records import Fold
from .records_json import source_from_json, tool_from_json
from .tables import metadata

OF_ROWS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError,
    ValueError, zlib.error,
)  # fmt: skip
"""What reading a row raises that was never written so."""

OF_FILES = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises of a damaged file: the second where its message quotes what is no text."""

_ROWS_AT_A_TIME = 1000
# Whether it is damaged cannot be told now: it is locked, the disk is full or away.
_PASSING = (
    "SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN",
    "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_NOMEM", "SQLITE_INTERRUPT",
)  # fmt: skip
_LARGEST_POSITION, _LARGEST_SPAN = 2**48, 2**31
_DIALECT = sqlite.dialect()
_CHANGES, _KINDS, _TELLERS = (set(get_args(x)) for x in (Change, EventKind, Teller))


def is_file_intact(file: Path, *, with_rows: bool = True) -> bool:
    """Whether SQLite finds nothing wrong in a file, and every row of ours can be read.

    Raises:
        sqlite3.Error: it cannot be looked at now.
    """
    with closing(open_to_look(file)) as connection:
        connection.text_factory = as_text
        try:
            ((found, *_), *_) = connection.execute("PRAGMA integrity_check(1)").fetchall()
            return found == "ok" and (not with_rows or _are_rows_sound(connection))
        except OF_FILES as cause:
            if is_passing(cause):
                raise
            return False


def open_to_look(file: Path) -> sqlite3.Connection:
    """A connection to a file that there is, beside those that write to it."""
    wait_until_free(file)
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)


def is_passing(cause: Any) -> bool:
    """Whether an error of SQLite's may be gone the next time, and tells nothing of the file."""
    return (getattr(cause, "sqlite_errorname", None) or "").startswith(_PASSING)


def as_text(data: bytes) -> Any:
    """How SQLite's texts are read; what is none stays bytes, and so is not taken for one."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def is_sound(table: Table, row: Sequence[Any]) -> bool:
    """Whether a row, as SQLite has it, may have been written so."""
    try:
        values = {
            column.name: _value(column, value)
            for column, value in zip(table.columns, row, strict=True)
        }
        if (check := _CHECKS.get(table.name)) is not None:
            check(values)
    except (*OF_ROWS, tables.Unreadable):
        return False
    return True


def columns_of(connection: sqlite3.Connection, table: str) -> list[str]:
    """The names of the columns that a table has there."""
    return [name for _, name, *_ in connection.execute(f'PRAGMA table_info("{table}")')]


def version_in(connection: sqlite3.Connection) -> int | None:
    """Of which version its tables are; None if there are none, or nobody can tell."""
    try:
        query = f"SELECT value FROM {tables.facts.name} WHERE name = ?"
        return int(connection.execute(query, (VERSION,)).fetchone()[0])
    except (*OF_FILES, TypeError, ValueError):
        return None


def is_history(connection: sqlite3.Connection) -> bool:
    """Whether it has any of our tables."""
    ours = [x.name for x in metadata.sorted_tables]
    query = f"SELECT 1 FROM sqlite_master WHERE name IN ({', '.join('?' * len(ours))})"
    return connection.execute(query, ours).fetchone() is not None


def _are_rows_sound(connection: sqlite3.Connection) -> bool:
    version = version_in(connection)
    if not is_history(connection) or (version is not None and version != NEWEST):
        return True
    for table in metadata.sorted_tables:
        names = [x.name for x in table.columns]
        if {*columns_of(connection, table.name)} != {*names}:
            return False
        # In our order: in a store that was brought up to date they may have another one.
        rows = connection.execute(f"SELECT {', '.join(names)} FROM {table.name}")
        while some := rows.fetchmany(_ROWS_AT_A_TIME):
            if not all(is_sound(table, row) for row in some):
                return False
    return True


def _value(column: Column[Any], value: Any) -> Any:
    """What is read of a value, which must be of its column's type."""
    if value is None:
        _must(bool(column.nullable))
        return None
    of, is_it = column.type, _types(column)
    _must(isinstance(value, is_it))
    if isinstance(of, TypeDecorator):
        return cast(Any, of).process_result_value(value, _DIALECT)
    return value


@cache
def _types(column: Column[Any]) -> tuple[type, ...]:
    of: Any = column.type
    of = of.impl_instance if isinstance(of, TypeDecorator) else of
    if isinstance(of, Integer):
        return (int,)
    if isinstance(of, Float):
        return (float, int)
    return (bytes,) if isinstance(of, LargeBinary) else (str,)


def _must(is_so: bool) -> None:
    if not is_so:
        raise ValueError


def _check_fact(values: Mapping[str, Any]) -> None:
    _must(values["name"] != VERSION or values["value"].isdigit())


def _check_subject(values: Mapping[str, Any]) -> None:
    names = kind_named(values["kind"]), values["source_name"], values["tool"]
    subject, record = Subject(*names), values["record"]
    _must(subject.digest == values["digest"])
    if record is not None and subject.tool is None:
        source_from_json(subject, record)
    elif record is not None:
        _ = tool_from_json(subject, record).usage.p95_seconds


def _check_definition(values: Mapping[str, Any]) -> None:
    definition = tables.loaded(values["body"])
    _must(isinstance(definition["name"], str) and isinstance(definition["description"], str))
    _must(isinstance(definition["input_schema"], dict))


def _check_event(values: Mapping[str, Any]) -> None:
    """As it is read, and as the records take it in; of a source, and of a tool."""
    change, payload = values["change"], values["payload"]
    _must(change in _CHANGES and (payload is None or type(payload) is dict))
    _must(values["event_kind"] in {None, *_KINDS} and values["source"] in {None, *_TELLERS})
    _must(0 < values["span"] < _LARGEST_SPAN and values["span"] <= values["position"])
    _must(values["position"] < _LARGEST_POSITION)
    told = log.payload_of(change, values["seconds"], payload)
    linked: dict[str, list[Any]] = values["links"] or {}
    links = Links(**{name: tuple(ids) for name, ids in linked.items()})
    _must(all(isinstance(x, str) for ids in linked.values() for x in ids))
    is_of_source = values["subject"] == values["anchor"]
    subject = Subject(kind_named("mcp"), "any", None if is_of_source else "any")
    event = Event(subject, change, values["time"], told, links, values["definition"])
    Fold().take([event])
    if change == "called":
        _must(math.isfinite(told["seconds"]) and isinstance(told.get("error", ""), str))
    if values["told"] is not None:
        bundle = bundle_from(values["told"], Inventory((), ()), "")
        _must({*bundle.changes, bundle.change} <= _CHANGES)
        told_then: list[Any] = [*bundle.then]
        _must(all(isinstance(y, str) for x in told_then for y in (x.tool, x.reason)))


def _check_caller(values: Mapping[str, Any]) -> None:
    named: dict[str, Any] = values["names"]
    _must(all(isinstance(x, str) for x in named.values()) and named.get("agent") == values["agent"])


def _check_inventory(values: Mapping[str, Any]) -> None:
    inventories.unpacked(values["content"])


def _check_snapshot(values: Mapping[str, Any]) -> None:
    projection.unpacked(values["records"])


def _check_learned(values: Mapping[str, Any]) -> None:
    learned_calls.checked_calls(values["calls"])


_CHECKS: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
    tables.facts.name: _check_fact,
    tables.subjects.name: _check_subject,
    tables.definitions.name: _check_definition,
    tables.log_rows.name: _check_event,
    tables.callers.name: _check_caller,
    tables.inventories.name: _check_inventory,
    tables.snapshots.name: _check_snapshot,
    tables.learned_runs.name: _check_learned,
}
