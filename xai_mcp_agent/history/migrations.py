"""What brings a store of an older version up to date, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Dialect,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    func,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.schema import CreateIndex, CreateTable

from .bundling import bundle_events
from .tables import facts, intents, learned_runs, metadata, observed_shapes, vectors

Step = Callable[[Connection], None]

_BESIDE = (vectors, intents, learned_runs, observed_shapes)


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


def _add_callers(connection: Connection) -> None:
    """The table of callers as it was at first, and their numbers in the log."""
    added = Table(
        "xai_mcp_callers",
        MetaData(),
        *(Column(x, Integer, primary_key=True, autoincrement=False) for x in ("project", "id")),
        Column("digest", String(32), nullable=False),
        Column("agent", Text),
        Column("names", Text, nullable=False),
        Index("callers_by_digest", "project", "digest", unique=True),
    )
    added.create(connection)
    connection.exec_driver_sql("ALTER TABLE xai_mcp_log ADD COLUMN caller INTEGER")


def _add_learned(connection: Connection) -> None:
    """The tables of what runs teach as they were at first."""
    runs = Table(
        "xai_mcp_learned_runs",
        MetaData(),
        Column("project", Integer, primary_key=True, autoincrement=False),
        *(Column(x, String(32), primary_key=True) for x in ("scope", "run")),
        Column("digest", String(32), nullable=False),
        *(Column(x, Text, nullable=False) for x in ("toolbelt", "words", "calls")),
        Column("times", Integer, nullable=False),
        *(Column(x, BigInteger, nullable=False) for x in ("learned", "used", "revision")),
        Index("learned_runs_by_digest", "project", "scope", "digest"),
    )
    shapes = Table(
        "xai_mcp_observed_shapes",
        MetaData(),
        Column("project", Integer, primary_key=True, autoincrement=False),
        *(Column(x, String(32), primary_key=True) for x in ("scope", "subject", "digest")),
        *(Column(x, Text, nullable=False) for x in ("toolbelt", "source_name", "tool", "shape")),
        Column("kind", String(40), nullable=False),
        Column("times", Integer, nullable=False),
        *(Column(x, BigInteger, nullable=False) for x in ("used", "revision")),
    )
    runs.create(connection)
    shapes.create(connection)


STEPS: tuple[Step, ...] = (_add_vectors, _add_intents, bundle_events, _add_callers, _add_learned)
"""What leads from version 1 to 2, from 2 to 3, and so on. A step is never changed or removed."""

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


def bring_up_to_date(connection: Connection, steps: Sequence[Step] = STEPS) -> bool:
    """Make the tables, or change them to how they are now. Within a transaction for writing.

    Whether there were older ones.

    Raises:
        NewerStore: they are further than we know.
    """
    newest = len(steps) + 1
    if is_up_to_date(connection, steps):
        return False
    if not has_tables(connection):
        for statement in _creating(connection.dialect):
            connection.exec_driver_sql(statement)
        connection.execute(insert(facts).values(name=VERSION, value=str(newest)))
        return False
    for step in steps[version_of(connection) - 1 :]:
        step(connection)
    for table in _lost(connection):
        table.create(connection)
    is_version = facts.c.name == VERSION
    connection.execute(update(facts).where(is_version).values(value=str(newest)))
    return True


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
    return here == newest and not _lost(connection)


def _lost(connection: Connection) -> list[Table]:
    """The tables beside the log that somebody removed from a server: nothing else needs them.

    A file without one is damaged, and mended.
    """
    if connection.dialect.name == "sqlite":
        return []
    # By this users' search paths count, as in all queries.
    is_there = func.to_regclass
    query = select(*(is_there(x.name).is_not(None) for x in _BESIDE))
    found = connection.execute(query).one()
    return [x for x, is_known in zip(_BESIDE, found, strict=True) if not is_known]


def has_tables(connection: Connection) -> bool:
    """Whether it is a store at all; any other database has none of our tables."""
    return inspect(connection).has_table(facts.name)


def version_of(connection: Connection) -> int:
    """The version of the tables that are there."""
    return int(
        connection.execute(select(facts.c.value).where(facts.c.name == VERSION)).scalar_one()
    )
