"""What is asked of the history: its events, the records now and then, and definitions.

Each is done by the clerk, within one view of the store.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..core.tools import JsonObject
from ..history import log
from ..history.event import Event
from ..history.log import Range
from ..history.store import Store
from .fold import Records
from .projection import Projection


@dataclass(frozen=True, slots=True)
class When:
    """A point of the history: a time, a position, or now when it has neither."""

    time: datetime | None = None
    position: int | None = None


def events_in(store: Store, wanted: Range) -> list[Event]:
    """The events of a range.

    Raises:
        StoreFailed: the store.
    """
    with store.reading() as connection:
        return list(log.read(connection, store.project_id, wanted))


def records_at(store: Store, moment: When) -> Records:
    """Every source and tool there was until then, as was known then.

    Raises:
        StoreFailed: the store.
    """
    with store.reading() as connection:
        if moment == When():
            return Projection(connection, store.project_id).everything()
        until = moment.position
        if moment.time is not None:
            until = log.position_at(connection, store.project_id, moment.time)
        return Records().fold(log.read(connection, store.project_id, Range(until=until)))


def definition_of_digest(store: Store, digest: str) -> JsonObject | None:
    """What a source said of a tool.

    Raises:
        StoreFailed: the store.
    """
    with store.reading() as connection:
        return log.definition(connection, digest)


def rebuild(store: Store) -> None:
    """Make all records anew from the log.

    Raises:
        StoreFailed: the store; the records are as they were.
    """
    with store.writing() as connection:
        events = log.read(connection, store.project_id, Range())
        Projection(connection, store.project_id).replace(Records().fold(events))
