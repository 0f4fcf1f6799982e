"""Brings a store's tables from the version they have to the newest, one step at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, insert, inspect, select, update

from .tables import facts, metadata

Step = Callable[[Connection], None]

STEPS: tuple[Step, ...] = ()
"""What leads from version 1 to 2, from 2 to 3, and so on. A step is never changed or removed."""

_VERSION = "version"


class NewerStore(Exception):
    """The store was made by a newer version of this library, which alone knows how to use it."""


def bring_up_to_date(connection: Connection, steps: Sequence[Step] = STEPS) -> None:
    """Make the tables, or change them to how they are now. Within a transaction for writing.

    Raises:
        NewerStore: they are further than we know.
    """
    newest = len(steps) + 1
    if not inspect(connection).has_table(facts.name):
        metadata.create_all(connection)
        connection.execute(insert(facts).values(name=_VERSION, value=str(newest)))
        return
    here = version_of(connection)
    if here > newest:
        raise NewerStore(f"its version is {here}, and this library knows those up to {newest}")
    for step in steps[here - 1 :]:
        step(connection)
    if here < newest:
        is_version = facts.c.name == _VERSION
        connection.execute(update(facts).where(is_version).values(value=str(newest)))


def version_of(connection: Connection) -> int:
    """The version of the tables that are there."""
    return int(
        connection.execute(select(facts.c.value).where(facts.c.name == _VERSION)).scalar_one()
    )
