"""Engines for SQLite and PostgreSQL with real transactions and timeouts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.pool import StaticPool

from ..core.json import JsonObject
from .place import Place

# Longer than a writer waits among thirty on a busy machine.
LOCK_SECONDS = 20
_CONNECT_SECONDS = 10
_STATEMENT_SECONDS = 60
_SILENCE_SECONDS = 20  # then a network connection counts as lost
# Arbitrary numbers, which all our processes must share.
_LOCK_ALL = text("SELECT pg_advisory_xact_lock(8673452107)")
_LOCK_ONE = text(
    "SELECT pg_advisory_xact_lock_shared(8673452107), pg_advisory_xact_lock(867345, :project)"
)
_WRITES = "xai_writes"

_POSTGRESQL_ARGUMENTS = {
    "connect_timeout": _CONNECT_SECONDS,
    "keepalives_idle": _SILENCE_SECONDS,
    "tcp_user_timeout": _SILENCE_SECONDS * 1000,
    "client_encoding": "utf8",  # without an encoding, texts would be bytes
    "prepare_threshold": None,  # PgBouncer before 1.21 loses prepared statements
}
# Not as options of the connection, which poolers such as PgBouncer refuse.
_POSTGRESQL_LIMITS = {
    "lock_timeout": LOCK_SECONDS,
    "statement_timeout": _STATEMENT_SECONDS,
    "idle_in_transaction_session_timeout": _STATEMENT_SECONDS,
}

T = TypeVar("T")

_MOST_VALUES = 10_000


def engine_for(place: Place, *, is_to_read: bool = False) -> Engine:
    """Return the engine of a place, which connects later; with `is_to_read` it creates no file."""
    if not place.url.startswith("sqlite"):
        engine = create_engine(
            place.url,
            connect_args=_POSTGRESQL_ARGUMENTS,
            pool_size=1,
            pool_pre_ping=True,
            hide_parameters=True,  # values in messages: they may be anything
        )
        event.listen(engine, "connect", _limit)
        return engine
    read_only = place.file if is_to_read else None
    engine = create_engine(
        _read_only(read_only, place.is_still) if read_only else _file(place.file),
        connect_args={"timeout": LOCK_SECONDS},
        poolclass=StaticPool,
        hide_parameters=True,
    )
    event.listen(engine, "connect", _leave_begin_to_us if read_only else _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def for_writing(connection: Connection) -> Connection:
    """Make the next transaction of this connection exclude all other writers."""
    if connection.dialect.name != "sqlite":
        # Not the user's default: after the lock it must see the last writer's rows.
        connection = connection.execution_options(isolation_level="READ COMMITTED")
    return connection.execution_options(**{_WRITES: True})


def for_reading(connection: Connection) -> Connection:
    """Make the next transaction of this connection see one state of the database throughout."""
    if connection.dialect.name == "sqlite":
        return connection
    return connection.execution_options(isolation_level="REPEATABLE READ")


def lock(connection: Connection, project: int | None = None) -> None:
    """Wait for other writers of a project, or of all, at the start of a writing transaction."""
    if connection.dialect.name == "sqlite":  # BEGIN IMMEDIATE has done it there
        return
    if project is None:
        connection.execute(_LOCK_ALL)
    else:
        connection.execute(_LOCK_ONE, {"project": project})


def _file(file: Path | None) -> URL:
    # Not a string: the name of a folder may contain a question mark.
    return URL.create("sqlite", database=None if file is None else str(file))


def _read_only(file: Path, is_still: bool) -> URL:
    how = {"mode": "ro", "uri": "true"}
    # Otherwise SQLite creates files beside it even for reading, and leaves them there.
    can_write = os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)
    if (is_still or not can_write) and not os.path.exists(f"{file}-wal"):
        how["immutable"] = "1"
    return URL.create("sqlite", database=file.absolute().as_uri(), query=how)


def _limit(connection: Any, _: Any) -> None:
    limits = "; ".join(f"SET {name} = '{x}s'" for name, x in _POSTGRESQL_LIMITS.items())
    connection.execute(limits)
    connection.commit()


def _leave_begin_to_us(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # Python's module would begin transactions by itself


def _prepare(connection: Any, record: Any) -> None:
    _leave_begin_to_us(connection, record)
    connection.execute("PRAGMA journal_mode=WAL")
    # Safe when our process is killed; a power cut may lose the last moments.
    connection.execute("PRAGMA synchronous=NORMAL")
    # Forgotten rows are overwritten, not only marked as free.
    connection.execute("PRAGMA secure_delete=ON")


def _begin(connection: Connection) -> None:
    is_writing = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writing else "BEGIN")


def insert_missing(connection: Connection, table: Table, rows: Sequence[JsonObject]) -> None:
    """Add rows. A row with an existing key changes nothing."""
    if rows:
        dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
        connection.execute(dialect.insert(table).on_conflict_do_nothing(), rows)


def insert_rows(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Add rows of stored values. SQLAlchemy would take a third of the time of a recorded call."""
    mark = "?" if connection.dialect.name == "sqlite" else "%s"
    marks = ", ".join([mark] * len(table.columns))
    connection.exec_driver_sql(f"INSERT INTO {table.name} VALUES ({marks})", list(rows))


def portions(values: Iterable[T]) -> Iterator[list[T]]:
    """Yield the values in lists short enough for a statement: databases limit parameters."""
    rest = list(values)
    return (rest[n : n + _MOST_VALUES] for n in range(0, len(rest), _MOST_VALUES))
