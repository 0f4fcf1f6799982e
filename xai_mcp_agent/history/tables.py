"""Tables of a store and their column types, the same for SQLite and PostgreSQL."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic_core import to_json
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Double,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)
from sqlalchemy.exc import SQLAlchemyError

_encode = json.JSONEncoder(separators=(",", ":")).encode
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class UnreadableRow(SQLAlchemyError):
    """A row cannot be decoded: the file is damaged."""


class AsciiText(TypeDecorator[str]):
    """Text of any characters as ASCII: databases refuse NUL and lone surrogates."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Return the escaped text."""
        return None if value is None else encode_text(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        """Return the unescaped text."""
        return value if value is None or "\\" not in value else loaded(f'"{value}"')


class Moment(TypeDecorator[datetime]):
    """Time with its zone, to the microsecond, as a number that every database can sort."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """Return microseconds since 1970."""
        return None if value is None else encode_time(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """Return the time in UTC."""
        return None if value is None else time_of(value)


class Json(TypeDecorator[Any]):
    """JSON value as ASCII text, which both databases store whatever it contains."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Return JSON text; None stays None."""
        return None if value is None else encode_json(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Return the value."""
        return None if value is None else loaded(value)


def encode_text(text: str) -> str:
    """Return the text escaped as in JSON, without the quotes."""
    is_plain = text.isascii() and text.isprintable() and "\\" not in text
    return text if is_plain else json.dumps(text)[1:-1]


def encode_json(value: Any) -> str:
    """Return JSON text in ASCII."""
    try:
        return to_json(value).decode("ascii")
    except ValueError:  # not in ASCII, or with lone surrogates; that takes longer
        return _encode(value)


def encode_time(time: datetime) -> int:
    """Return microseconds since 1970 in UTC."""
    passed = time - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


def time_of(moment: int) -> datetime:
    """Return the time after so many microseconds, in UTC."""
    return _EPOCH + timedelta(microseconds=moment)


_Digest = String(32)
_Run = String(32)

metadata = MetaData()

facts = Table(
    "xai_mcp_facts",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)

projects = Table(
    "xai_mcp_projects",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("repo_hash", String(64), nullable=False, unique=True),
    Column("name", AsciiText, nullable=False),
    Column("pruned", Moment),
)

runs = Table(
    "xai_mcp_runs",
    metadata,
    Column("number", Integer, primary_key=True),  # events refer to it by this
    Column("id", _Run, nullable=False, unique=True),
    Column("project", Integer, nullable=False),
    Column("host", AsciiText, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("pid_started", Float, nullable=False),  # process numbers are reused
    Column("seen", Moment, nullable=False),
    Column("ended", Moment),
    sqlite_autoincrement=True,
)
"""Processes that write."""

definitions = Table(
    "xai_mcp_definitions",
    metadata,
    Column("digest", _Digest, primary_key=True),
    Column("body", Text, nullable=False),
)

subjects = Table(
    "xai_mcp_subjects",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("project", Integer, nullable=False),
    Column("kind", String(40), nullable=False),
    Column("source_name", AsciiText, nullable=False),
    Column("tool", AsciiText),
    Index("subjects_of_a_project", "project", "id"),
    sqlite_autoincrement=True,  # numbers are not reused: processes cache them
)
"""The sources and tools that events are about, by number."""

events = Table(
    "xai_mcp_events",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("time", Moment, nullable=False),
    Column("run", Integer),
    Column("change", String(20), nullable=False),
    Column("subject", Integer, nullable=False),
    Column("anchor", Integer, nullable=False),
    Column("followed_by", Integer),
    Column("definition", _Digest),
    Column("reason", AsciiText),
    Column("payload", Json),
    Column("seconds", Double),
    Column("failed", Boolean),
    Column("agent", AsciiText),
    Column("teller", String(20)),
    Index("events_of_a_subject", "project", "subject", "position"),
    Index("events_of_a_source", "project", "anchor", "position"),
)
"""The log: changes, one event a row, in the order of `position`; rows are only ever added.

A row with `followed_by` is about all tools of its source: that number of next rows are about some
of them; the others are unchanged, or lost with their source. `payload`, `failed` and `teller` are
None if the change implies them.
"""

_is_forgotten = events.c.change == "forgotten"
Index(
    "events_of_forgetting", events.c.project, events.c.time,
    sqlite_where=_is_forgotten, postgresql_where=_is_forgotten,
)  # fmt: skip

snapshots = Table(
    "xai_mcp_snapshots",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
    Column("records", LargeBinary, nullable=False),
)
"""States of the log at some positions, made by a `version` of the fold."""

vectors = Table(
    "xai_mcp_vectors",
    metadata,
    Column("model", _Digest, primary_key=True),
    Column("content", _Digest, primary_key=True),
    Column("vector", LargeBinary, nullable=False),
    Column("used", Moment, nullable=False),
    Index("vectors_by_use", "used"),
)
"""Embeddings of texts, for all projects, without the texts and the names of models."""

learned = Table(
    "xai_mcp_learned",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("project", Integer, nullable=False),
    Column("subject", Integer, nullable=False),
    Column("toolbelt", AsciiText, nullable=False),
    Column("words", AsciiText, nullable=False),
    Column("times", Integer, nullable=False),
    Column("learned", Moment, nullable=False),
    Column("used", Moment, nullable=False),
    Index("learned_of_a_tool", "project", "subject"),
)
"""Learned requests of tools. Not in the log, so that they can be deleted."""

rules = Table(
    "xai_mcp_rules",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("revision", Integer, nullable=False),
    Column("digest", _Digest, nullable=False),
    Column("rules", Text, nullable=False),
)
"""All rules of a project, and how often they were changed."""


def loaded(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        Unreadable: it is not JSON, so the file is damaged.
    """
    try:
        return json.loads(text)
    except (TypeError, ValueError) as cause:
        raise UnreadableRow("A row holds no JSON.") from cause
