"""The tables of a store, their column types and migrations, for SQLite and PostgreSQL."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic_core import to_json
from sqlalchemy import (
    BigInteger,
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


class Unreadable(SQLAlchemyError):
    """What is in a row is not what was ever written there: the file is damaged."""


class Words(TypeDecorator[str]):
    """Text of strangers, in ASCII: databases refuse NUL and halves of surrogate pairs."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """As `kept_words`."""
        return None if value is None else kept_words(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        """As it was."""
        return value if value is None or "\\" not in value else loaded(f'"{value}"')


class Moment(TypeDecorator[datetime]):
    """A time with its zone, to the microsecond, as a number that every database can sort."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """As `kept_moment`."""
        return None if value is None else kept_moment(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """In UTC."""
        return None if value is None else _EPOCH + timedelta(microseconds=value)


class Json(TypeDecorator[Any]):
    """A JSON value as ASCII text, which is what both databases store whatever is in it."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """As `kept_json`; None is no value."""
        return None if value is None else kept_json(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """As it was."""
        return None if value is None else loaded(value)


def kept_words(text: str) -> str:
    """As JSON writes it, without the quotes."""
    is_plain = text.isascii() and text.isprintable() and "\\" not in text
    return text if is_plain else json.dumps(text)[1:-1]


def kept_json(value: Any) -> str:
    """As text in ASCII."""
    try:
        return to_json(value).decode("ascii")
    except ValueError:  # not in ASCII, or with halves of surrogate pairs; that takes longer
        return _encode(value)


def kept_moment(time: datetime) -> int:
    """Microseconds since 1970 in UTC."""
    passed = time - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


_Digest = String(32)
_Run = String(32)

metadata = MetaData()

facts = Table(
    "xai_mcp_facts",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)

RECORDS, STALE = "records", "stale"
"""A fact: what is in `subjects` is not what the log comes to, and must be made anew."""

LEARNED = "learned:{}"
"""A fact of each project: the revision of what runs taught. Where it is lost all is read anew."""

projects = Table(
    "xai_mcp_projects",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("repo_hash", String(64), nullable=False, unique=True),
    Column("name", Words, nullable=False),
)

runs = Table(
    "xai_mcp_runs",
    metadata,
    Column("id", _Run, primary_key=True),
    Column("project", Integer, nullable=False),
    Column("number", Integer),  # by which the log names it
    Column("host", Words, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("pid_started", Float, nullable=False),  # a process number is given again
    Column("started", Moment, nullable=False),
    Column("seen", Moment, nullable=False),
    Column("ended", Moment),
    Index("runs_of_a_project", "project", "ended"),
    Index("runs_by_number", "project", "number"),
)

definitions = Table(
    "xai_mcp_definitions",
    metadata,
    Column("digest", _Digest, primary_key=True),
    Column("body", Text, nullable=False),
)

subjects = Table(
    "xai_mcp_subjects",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("digest", _Digest, nullable=False),
    Column("anchor", Integer, nullable=False),
    Column("kind", String(40), nullable=False),
    Column("source_name", Words, nullable=False),
    Column("tool", Words),
    Column("record", Json),
    Index("subjects_by_digest", "project", "digest", unique=True),
    Index("subjects_of_a_source", "project", "anchor"),
)
"""Every source (of which `anchor` is its own number) and tool there ever was, and in `record` what
the log comes to of it."""

log_rows = Table(
    "xai_mcp_log",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("time", Moment, nullable=False),
    Column("run", Integer, nullable=False),
    Column("change", String(20), nullable=False),
    Column("subject", Integer, nullable=False),
    Column("anchor", Integer, nullable=False),
    Column("span", Integer, nullable=False),
    Column("seconds", Double),
    Column("payload", Json),
    Column("definition", _Digest),
    Column("reason", Words),
    Column("inventory", _Digest),
    Column("told", Json),
    Column("links", Json),
    Column("event_kind", String(20)),
    Column("source", String(20)),
    Column("caller", Integer),
    Index("log_of_a_subject", "project", "subject", "position"),
    Index("log_of_a_source", "project", "anchor", "position"),
    Index("log_in_time", "project", "time", "position"),
)
"""The log. Rows are only ever added; `position` counts events within a project.

A row is an event, or `span` of them: that of a source, and behind it those of its tools, which are
`told`. It has the position of its last one. `payload`, `links`, `event_kind` and `source` are None
where they are those that the kind of event, its definition or its `seconds` tell. `caller` is the
number of the names of who made a call.
"""

callers = Table(
    "xai_mcp_callers",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("digest", _Digest, nullable=False),
    Column("agent", Words),
    Column("names", Json, nullable=False),
    Index("callers_by_digest", "project", "digest", unique=True),
)
"""Who made calls: agents, their workflows, nodes and toolbelts, each combination once."""

inventories = Table(
    "xai_mcp_inventories",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("digest", _Digest, primary_key=True),
    Column("base", _Digest),
    Column("steps", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
)
"""Which tools a source listed, with the digests of their definitions; or what is different from
`base`, and so many `steps` lie below it."""

snapshots = Table(
    "xai_mcp_snapshots",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("records", LargeBinary, nullable=False),
)
"""What the log came to at some positions, so that views of the past need not begin at the first."""

vectors = Table(
    "xai_mcp_vectors",
    metadata,
    Column("model", _Digest, primary_key=True),
    Column("content", _Digest, primary_key=True),
    Column("vector", LargeBinary, nullable=False),
    Column("used", Moment, nullable=False),
    Index("vectors_by_use", "used"),
)
"""What models made of texts, of all projects; neither texts nor names of models are in it."""

intents = Table(
    "xai_mcp_intents",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("scope", _Digest, primary_key=True),
    Column("subject", _Digest, primary_key=True),
    Column("intent", String(32), primary_key=True),
    Column("toolbelt", Words, nullable=False),
    Column("kind", String(40), nullable=False),
    Column("source_name", Words, nullable=False),
    Column("tool", Words, nullable=False),
    Column("words", Words, nullable=False),
    Column("uses", Integer, nullable=False),
    Column("learned", Moment, nullable=False),
    Column("used", Moment, nullable=False),
)
"""What was asked for when tools were used. Not in the log, so that it can be forgotten."""

learned_runs = Table(
    "xai_mcp_learned_runs",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("scope", _Digest, primary_key=True),
    Column("run", String(32), primary_key=True),
    Column("digest", _Digest, nullable=False),
    Column("toolbelt", Words, nullable=False),
    Column("words", Words, nullable=False),
    Column("calls", Json, nullable=False),
    Column("times", Integer, nullable=False),
    Column("learned", Moment, nullable=False),
    Column("used", Moment, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Index("learned_runs_by_digest", "project", "scope", "digest"),
)
"""Runs that went well, without values: their tools, where arguments came from, what was asked for.
`digest` is that of the calls; `revision` rises with each row that is written."""

observed_shapes = Table(
    "xai_mcp_observed_shapes",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("scope", _Digest, primary_key=True),
    Column("subject", _Digest, primary_key=True),
    Column("digest", _Digest, primary_key=True),
    Column("toolbelt", Words, nullable=False),
    Column("kind", String(40), nullable=False),
    Column("source_name", Words, nullable=False),
    Column("tool", Words, nullable=False),
    Column("shape", Json, nullable=False),
    Column("times", Integer, nullable=False),
    Column("used", Moment, nullable=False),
    Column("revision", BigInteger, nullable=False),
)
"""What results of tools looked like: names and kinds. Beside the log as well."""


names = Table(
    "xai_mcp_names",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(40), nullable=False),
    Column("source_name", Words, nullable=False),
    Column("tool", Words),
)
"""The names in `subjects` once more: without them nobody could tell what the log is about, and a
damaged page of a file must not cost them. Last, and so far from the others in a new file."""


def loaded(text: str) -> Any:
    """The JSON value that was written so.

    Raises:
        Unreadable: none ever was.
    """
    try:
        return json.loads(text)
    except (TypeError, ValueError) as cause:
        raise Unreadable("A row holds no JSON.") from cause
