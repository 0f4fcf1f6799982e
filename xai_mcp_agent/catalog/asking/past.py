"""What is asked of the history: its events, the records now and then, definitions, differences.

Each is done in the clerk's thread, or in that of a command.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from ...history import log
from ...history.event import Change, Event
from ...history.log import Range
from ...history.store import Store
from ...history.subject import Subject
from ..comparing.compared import Defined, ToolChanged, Version, compared, differences
from ..drawing.graph import Graph, graph_of
from ..records.fold import Records
from ..records.projection import Projection
from ..records.record import is_offered
from ..records.renewal import is_stale
from ..records.snapshots import records_until

# By which a definition may be another one than before.
_DEFINING: tuple[Change, ...] = ("seeded", "discovered", "changed")
# What decides which tools there are; calls, of which there are many more, do not.
_TELLING: tuple[Change, ...] = (
    *_DEFINING, "confirmed", "returned", "unavailable",
    "connected", "reconnected", "refreshed", "left", "disconnected",
)  # fmt: skip


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
        until = _position(connection, store.project_id, moment)
        return _records(connection, store.project_id, until)


def graph_at(store: Store, moment: When) -> Graph:
    """The event graph, as it was then.

    Raises:
        StoreFailed: the store.
    """
    with store.reading() as connection:
        until = _position(connection, store.project_id, moment)
        records = _records(connection, store.project_id, until)
        return graph_of(store.project, records, log.links(connection, store.project_id, until))


def versions_of(store: Store, tool: Subject) -> list[Version]:
    """Every definition that a tool had, the first one first.

    Raises:
        StoreFailed: the store.
    """
    with store.reading() as connection:
        wanted = Range(subject=tool, changes=_DEFINING)
        events = [x for x in log.read(connection, store.project_id, wanted) if x.definition]
        known = log.definitions_of(connection, (x.definition or "" for x in events))
    found: list[Version] = []
    for event in events:
        digest = event.definition or ""
        if not found or found[-1].digest != digest:
            now, before = known.get(digest), known.get(found[-1].digest) if found else None
            lines = differences(before, now, in_full=True) if found else ()
            version = Version(digest, event.time, event.position, now, lines)
            found.append(version)
    return found


def tools_changed(
    store: Store, before: When, after: When, subject: Subject | None = None
) -> list[ToolChanged]:
    """What is different between two points: of one tool, of a source, or of all there is.

    A tool is there as long as its source offers it, also while that is not connected. One that
    was renamed is asked for by either name.

    Raises:
        StoreFailed: the store.
    """
    source = subject and subject.anchor
    then, now = _told(store, before, source), _told(store, after, source)
    old, new = _offered(then), _offered(now)
    # By what it was at last, a tool that was renamed later is found more often.
    last = {x: now.tools[x].definition for x in old.keys() - new.keys() if x in now.tools}
    different = {x for x in old.keys() | new.keys() if old.get(x) != new.get(x)}
    with store.reading() as connection:
        digests = {side[x] for side in (old, new, last) for x in different if x in side}
        known = log.definitions_of(connection, digests)
    sides = (
        {x: Defined(side[x], known.get(side[x])) for x in different & side.keys()}
        for side in (old, new, last)
    )
    found = compared(*sides)
    return [x for x in found if subject in (None, source, x.tool, x.was)]


def _told(store: Store, moment: When, source: Subject | None) -> Records:
    """What was known then of a source and its tools, but not of calls; or all that was known."""
    if source is None:
        return records_at(store, moment)
    with store.reading() as connection:
        until = _position(connection, store.project_id, moment)
        wanted = Range(anchor=source, changes=_TELLING)
        return records_until(connection, store.project_id, until, wanted)


def _offered(records: Records) -> dict[Subject, str]:
    """The tools that were there, and the digests of their definitions."""
    return {
        tool: record.definition
        for tool, record in records.tools.items()
        if is_offered(record, records.sources.get(tool.anchor))
    }


def position_of(store: Store, moment: When) -> int | None:
    """The position of the newest event of a time; None for now.

    Events stand in the order in which they were written. Where a store was away for a while, or the
    clocks of two machines differ, that of their times is another.

    Raises:
        StoreFailed: the store.
    """
    with store.reading() as connection:
        return _position(connection, store.project_id, moment)


def _records(connection: Connection, project: int, until: int | None) -> Records:
    if until is None and not is_stale(connection):
        return Projection(connection, project).everything()
    return records_until(connection, project, until)


def _position(connection: Connection, project: int, moment: When) -> int | None:
    if moment.time is None:
        return moment.position and min(moment.position, log.LARGEST_POSITION)
    return log.position_at(connection, project, moment.time)
