"""The event log: append and read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, func, select

from ..core.kinds import kind_named
from ..core.tools import JsonObject
from .database import insert_rows
from .event import Change, Event, Links, Subject, tool_payload
from .tables import definitions, events, kept_json, kept_moment, kept_words, loaded

_ROWS_AT_A_TIME = 2000
_DIGESTS_AT_A_TIME = 500  # databases take only so many values in one statement
_BRIEF = (
    "kind", "source_name", "tool", "change", "time", "payload", "definition", "reason", "run",
    "position",
)  # fmt: skip
_NO_LINKS = Links()
_LINKS = tuple(field.name for field in fields(Links))
# Made once: it is asked in every transaction.
_NEWEST = select(func.max(events.c.position)).where(events.c.project == bindparam("project"))

LARGEST_POSITION = 2**63 - 1
"""Databases compare with no larger number."""


@dataclass(frozen=True, slots=True)
class Range:
    """Which events are wanted: all of the project by default.

    `subject` is one source or tool, `anchor` a source with all its tools. `after` and `until` are
    positions, the first not included; `since` is a time. `changes` are the kinds that are wanted,
    if not all. The newest come first if `newest_first`.
    """

    subject: Subject | None = None
    anchor: Subject | None = None
    after: int = 0
    until: int | None = None
    since: datetime | None = None
    changes: tuple[Change, ...] = ()
    limit: int | None = None
    newest_first: bool = False


def append(
    connection: Connection,
    project: int,
    new: Iterable[Event],
    bodies: Mapping[str, str],
) -> int:
    """Add events at the end; the position of the last one.

    Within a transaction for writing, which keeps others from taking the same positions; where that
    does not hold, as on some network disks, it fails, and nothing is kept of it. `bodies` are
    definitions as JSON text by their digests; one that is known already is not written again.
    """
    last = last_position(connection, project)
    rows = [_row(project, position, event) for position, event in enumerate(new, last + 1)]
    insert_rows(connection, definitions, bodies.items())
    insert_rows(connection, events, rows, are_new=True)
    return last + len(rows)


def last_position(connection: Connection, project: int) -> int:
    """The position of the newest event; 0 before the first."""
    return connection.execute(_NEWEST, {"project": project}).scalar() or 0


def position_at(connection: Connection, project: int, moment: datetime) -> int:
    """The position of the newest event that is not later than this; 0 before the first."""
    known = select(events.c.position).where(events.c.project == project, events.c.time <= moment)
    newest = known.order_by(events.c.time.desc(), events.c.position.desc()).limit(1)
    return connection.execute(newest).scalar() or 0


def read(
    connection: Connection, project: int, wanted: Range, *, is_brief: bool = False
) -> Iterator[Event]:
    """The events of a range, in the order they happened or the other way round.

    Those that are `is_brief` come without links, and without what definitions tell.
    """
    query = _query(wanted, _brief(project) if is_brief else _whole(project))
    # An option of the query: as one of the connection it would be that of all that follows.
    rows = connection.execute(query.execution_options(yield_per=_ROWS_AT_A_TIME))
    yield from map(_brief_event if is_brief else _event, rows)


def links(
    connection: Connection, project: int, until: int | None = None
) -> Iterator[tuple[Subject, Links, int]]:
    """What the events that tell facts link each subject to, and how often they do so."""
    names = (events.c.kind, events.c.source_name, events.c.tool)
    query = select(*names, events.c.links, func.count()).group_by(*names, events.c.links)
    query = query.where(events.c.project == project, events.c.event_kind == "fact")
    if until is not None:
        query = query.where(events.c.position <= min(until, LARGEST_POSITION))
    for kind, source, tool, of_event, count in connection.execute(query):
        yield subject_of(kind, source, tool), _links(of_event), count


def kept_definitions(connection: Connection, digests: Iterable[str]) -> set[str]:
    """Those of these digests whose definitions are there; some may be lost with a damaged file."""
    wanted = sorted(set(digests))
    found: set[str] = set()
    for first in range(0, len(wanted), _DIGESTS_AT_A_TIME):
        some = wanted[first : first + _DIGESTS_AT_A_TIME]
        is_one = definitions.c.digest.in_(some)
        found.update(connection.execute(select(definitions.c.digest).where(is_one)).scalars())
    return found


def definitions_of(connection: Connection, digests: Iterable[str]) -> dict[str, JsonObject]:
    """What sources said of tools, by the digests; those that were lost are left out."""
    found: dict[str, JsonObject] = {}
    wanted = sorted(set(digests))
    for first in range(0, len(wanted), _DIGESTS_AT_A_TIME):
        some = wanted[first : first + _DIGESTS_AT_A_TIME]
        rows = connection.execute(select(definitions).where(definitions.c.digest.in_(some)))
        found |= {row.digest: loaded(row.body) for row in rows}
    return found


@lru_cache(maxsize=20_000)  # a history is long because the same things happen again and again
def subject_of(kind: str, source: str, tool: str | None) -> Subject:
    """The subject that these names are of."""
    return Subject(kind_named(kind), source, tool)


def _is_told_by_definition(event: Event) -> bool:
    """Whether its payload need not be kept, because it can be made anew."""
    return event.event_kind == "fact" and bool(event.subject.tool and event.definition)


def _payload_in(body: str | None) -> JsonObject:
    if body is None:
        return {}  # it was lost, as by a damaged file
    definition = loaded(body)
    return tool_payload(definition["name"], definition["description"], definition["input_schema"])


def _row(project: int, position: int, event: Event) -> tuple[Any, ...]:
    """In the order of the columns."""
    subject, links = event.subject, event.links
    return (
        project,
        position,
        kept_moment(event.time),
        event.run,
        event.change,
        subject.kind.name,
        kept_words(subject.source),
        None if subject.tool is None else kept_words(subject.tool),
        subject.digest,
        subject.anchor.digest,
        event.event_kind,
        event.source,
        None if _is_told_by_definition(event) else kept_json(event.payload),
        _kept_links(links),
        event.definition,
        kept_words(event.reason),
    )


@lru_cache(maxsize=1000)  # the calls of a tool all have the same
def _kept_links(links: Links) -> str:
    return kept_json({name: getattr(links, name) for name in _LINKS if getattr(links, name)})


def _whole(project: int) -> Select[Any]:
    known = definitions.c.digest == events.c.definition
    query = select(events, definitions.c.body).outerjoin(definitions, known)
    return query.where(events.c.project == project)


def _brief(project: int) -> Select[Any]:
    columns = [events.c[name] for name in _BRIEF]
    return select(*columns).where(events.c.project == project)


def _query(wanted: Range, query: Select[Any]) -> Select[Any]:
    query = query.where(events.c.position > min(wanted.after, LARGEST_POSITION))
    if wanted.subject is not None:
        query = query.where(events.c.subject == wanted.subject.digest)
    if wanted.anchor is not None:
        query = query.where(events.c.anchor == wanted.anchor.digest)
    if wanted.until is not None:
        query = query.where(events.c.position <= min(wanted.until, LARGEST_POSITION))
    if wanted.changes:
        query = query.where(events.c.change.in_(wanted.changes))
    if wanted.since is not None:
        query = query.where(events.c.time >= wanted.since)
    order = events.c.position.desc() if wanted.newest_first else events.c.position
    most = None if wanted.limit is None else min(wanted.limit, LARGEST_POSITION)
    return query.order_by(order).limit(most)


def _brief_event(row: Any) -> Event:
    kind, source, tool, change, time, payload, definition, reason, run, position = row
    return Event(
        subject_of(kind, source, tool), change, time, payload or {}, _NO_LINKS, definition, reason,
        run, position,
    )  # fmt: skip


def _event(row: Row[Any]) -> Event:
    return Event(
        subject=subject_of(row.kind, row.source_name, row.tool),
        change=row.change,
        time=row.time,
        payload=_payload_in(row.body) if row.payload is None else row.payload,
        links=_links(row.links),
        definition=row.definition,
        reason=row.reason,
        run=row.run,
        position=row.position,
        event_kind=row.event_kind,
        source=row.source,
    )


def _links(value: JsonObject) -> Links:
    return Links(**{name: tuple(ids) for name, ids in value.items()})
