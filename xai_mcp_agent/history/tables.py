"""The tables of a store, their column types and migrations, for SQLite and PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from pydantic_core import to_json
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Dialect,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateIndex, CreateTable

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
"""A fact: what is in `sources` and `tools` is not what the log comes to, and must be made anew."""

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
    Column("host", Words, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("pid_started", Float, nullable=False),  # a process number is given again
    Column("started", Moment, nullable=False),
    Column("seen", Moment, nullable=False),
    Column("ended", Moment),
    Index("runs_of_a_project", "project", "ended"),
)

definitions = Table(
    "xai_mcp_definitions",
    metadata,
    Column("digest", _Digest, primary_key=True),
    Column("body", Text, nullable=False),
)

events = Table(
    "xai_mcp_events",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("time", Moment, nullable=False),
    Column("run", _Run, nullable=False),
    Column("change", String(20), nullable=False),
    Column("kind", String(40), nullable=False),
    Column("source_name", Words, nullable=False),
    Column("tool", Words),
    Column("subject", _Digest, nullable=False),
    Column("anchor", _Digest, nullable=False),
    Column("event_kind", String(20), nullable=False),
    Column("source", String(20), nullable=False),
    Column("payload", Json),  # None: it is made of the definition
    Column("links", Json, nullable=False),
    Column("definition", _Digest),
    Column("reason", Words, nullable=False),
    Index("events_of_a_subject", "project", "subject", "position"),
    Index("events_of_a_source", "project", "anchor", "position"),
    Index("events_in_time", "project", "time", "position"),
)
"""The log. Rows are only ever added; `position` counts them within a project."""

sources = Table(
    "xai_mcp_sources",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("subject", _Digest, primary_key=True),
    Column("kind", String(40), nullable=False),
    Column("name", Words, nullable=False),
    Column("record", Json, nullable=False),
)

tools = Table(
    "xai_mcp_tools",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("subject", _Digest, primary_key=True),
    Column("anchor", _Digest, nullable=False),
    Column("kind", String(40), nullable=False),
    Column("source_name", Words, nullable=False),
    Column("name", Words, nullable=False),
    Column("record", Json, nullable=False),
    Index("tools_of_a_source", "project", "anchor"),
)
"""What the log comes to: one row for each tool there ever was, and in `sources` for each source."""

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


def loaded(text: str) -> Any:
    """The JSON value that was written so.

    Raises:
        Unreadable: none ever was.
    """
    try:
        return json.loads(text)
    except (TypeError, ValueError) as cause:
        raise Unreadable("A row holds no JSON.") from cause


Step = Callable[[Connection], None]


def _add_vectors(connection: Connection) -> None:
    """The table of vectors as it was at first, however it looks in the newest version."""
    added = Table(
        "xai_mcp_vectors",
        MetaData(),
        Column("model", String(32), primary_key=True),
        Column("content", String(32), primary_key=True),
        Column("vector", LargeBinary, nullable=False),
        Column("used", BigInteger, nullable=False),
        Index("vectors_by_use", "used"),
    )
    added.create(connection)


def _add_intents(connection: Connection) -> None:
    """The table of intents as it was at first, however it looks in the newest version."""
    digests = (Column(x, String(32), primary_key=True) for x in ("scope", "subject", "intent"))
    added = Table(
        "xai_mcp_intents",
        MetaData(),
        Column("project", Integer, primary_key=True, autoincrement=False),
        *digests,
        *(Column(x, Text, nullable=False) for x in ("toolbelt", "source_name", "tool", "words")),
        Column("kind", String(40), nullable=False),
        Column("uses", Integer, nullable=False),
        *(Column(x, BigInteger, nullable=False) for x in ("learned", "used")),
    )
    added.create(connection)


STEPS: tuple[Step, ...] = (_add_vectors, _add_intents)
"""What leads from version 1 to 2, from 2 to 3, and so on. A step is never changed or removed.

A store that cannot be written is read as it is: so far steps only add tables, and whoever reads
one of those asks first whether it is there.
"""

VERSION, NEWEST = "version", len(STEPS) + 1
"""A fact of a store, and what it is in one that is up to date."""


class NewerStore(Exception):
    """The store was made by a newer version of this library, which alone knows how to use it."""

    next_step = (
        "Update this one, too: pip install --upgrade xai-mcp-agent. Or name another place with "
        "XAI_MCP_STORE."
    )


class OlderStore(Exception):
    """The store has to be brought up to date before it can be read."""


def bring_up_to_date(connection: Connection, steps: Sequence[Step] = STEPS) -> None:
    """Make the tables, or change them to how they are now. Within a transaction for writing.

    Raises:
        NewerStore: they are further than we know.
    """
    newest = len(steps) + 1
    if is_up_to_date(connection, steps):
        return
    if not has_tables(connection):
        for statement in _creating(connection.dialect):
            connection.exec_driver_sql(statement)
        connection.execute(insert(facts).values(name=VERSION, value=str(newest)))
        return
    for step in steps[version_of(connection) - 1 :]:
        step(connection)
    is_version = facts.c.name == VERSION
    connection.execute(update(facts).where(is_version).values(value=str(newest)))


@lru_cache(maxsize=2)  # one of each kind
def _creating(dialect: Dialect) -> tuple[str, ...]:
    """What makes the tables and indexes. Not `create_all`, which asks for each whether it is there.

    Stores in SQLite have equal dialects.
    """
    made = ((CreateTable(x), *map(CreateIndex, x.indexes)) for x in metadata.tables.values())
    return tuple(str(x.compile(dialect=dialect)) for of_table in made for x in of_table)


def is_up_to_date(connection: Connection, steps: Sequence[Step] = STEPS) -> bool:
    """Whether nothing is to be done.

    Raises:
        NewerStore: the tables are further than we know.
    """
    if not has_tables(connection):
        return False
    here, newest = version_of(connection), len(steps) + 1
    if here > newest:
        raise NewerStore(
            f"It was made by a newer version of this library (its tables are at {here}, and this "
            f"one knows them up to {newest})."
        )
    return here == newest


def has_tables(connection: Connection) -> bool:
    """Whether it is a store at all; any other database has none of our tables."""
    return inspect(connection).has_table(facts.name)


def has_intents(connection: Connection) -> bool:
    """Whether it is not a store of an older version, which has none."""
    return inspect(connection).has_table(intents.name)


def version_of(connection: Connection) -> int:
    """The version of the tables that are there."""
    return int(
        connection.execute(select(facts.c.value).where(facts.c.name == VERSION)).scalar_one()
    )
