"""Brings a store's tables from the version they have to the newest, one step at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, insert, inspect, select, update

from .tables import facts, metadata

Step = Callable[[Connection], None]

STEPS: tuple[Step, ...] = ()
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


def bring_up_to_date(connection: Connection, steps: Sequence[Step] = STEPS) -> None:
    """Make the tables, or change them to how they are now. Within a transaction for writing.

    Raises:
        NewerStore: they are further than we know.
    """
    newest = len(steps) + 1
    if is_up_to_date(connection, steps):
        return
    if not has_tables(connection):
        metadata.create_all(connection)
        connection.execute(insert(facts).values(name=VERSION, value=str(newest)))
        return
    for step in steps[version_of(connection) - 1 :]:
        step(connection)
    is_version = facts.c.name == VERSION
    connection.execute(update(facts).where(is_version).values(value=str(newest)))


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


def version_of(connection: Connection) -> int:
    """The version of the tables that are there."""
    return int(
        connection.execute(select(facts.c.value).where(facts.c.name == VERSION)).scalar_one()
    )
