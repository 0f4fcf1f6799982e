"""Events as rows of the log and back, the filter of rows, and look-ups in the table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, Select, Text, and_, func, or_, select, type_coerce

from ..core.json import JsonObject
from .database import portions
from .event import (
    Change,
    Event,
    Project,
    Range,
    Subject,
    links_of,
    usual_payload,
)
from .tables import definitions, encode_json, encode_text, encode_time, events, loaded, subjects

LARGEST_POSITION = 2**63 - 1
"""Largest number that databases compare with."""

LISTINGS: tuple[Change, ...] = ("connected", "reconnected", "refreshed")
_FAILURES: tuple[Change, ...] = ("failed", "refused")
_OF_DEFINITIONS = ("description", "parameters")  # not searched; `diff` shows them
_ESCAPED = frozenset('"\\%_')  # in JSON, or in a pattern
_AGENT = "agent"


def row_of(
    project: int, position: int, event: Event, numbers: Mapping[Subject, int], run: int | None
) -> tuple[Any, ...]:
    """Return the row of an event at a position: stored values in the order of the columns.

    `numbers` are those of subjects.
    """
    change, payload, seconds = event.change, event.payload, None
    agent = payload.get(_AGENT)
    agent = agent if isinstance(agent, str) else None
    if describes_tool(event) or payload == usual_payload(change):
        payload, agent = None, None
    elif change == "called":
        seconds = payload.get("seconds")
        payload = {x: y for x, y in payload.items() if x not in ("status", "seconds", _AGENT)}
    elif agent is not None:
        payload = {x: y for x, y in payload.items() if x != _AGENT}
    subject = event.subject
    return (
        project, position, encode_time(event.time), run, change, numbers[subject],
        numbers[subject.anchor], event.followed_by, event.definition,
        encode_text(event.reason) or None, encode_json(payload) if payload else None, seconds,
        is_failure(event) or None, encode_text(agent) if agent is not None else None, event.teller,
    )  # fmt: skip


def event_of(row: Any, subject: Subject, run: str, project: Project) -> Event:
    """Return the event of a row, without a payload that its definition contains."""
    change: Change = row.change
    payload: JsonObject | None = row.payload
    if change == "called":
        status = "error" if row.failed else "ok"
        payload = {"status": status, "seconds": row.seconds or 0.0, **(payload or {})}
    elif payload is None:
        payload = usual_payload(change)
    if row.agent is not None:
        payload = {**payload, _AGENT: row.agent}
    return Event(
        subject, change, row.time, payload, links_of(change, subject, project), row.definition,
        row.reason or "", run, row.position, row.teller, row.followed_by,
    )  # fmt: skip


def describes_tool(event: Event) -> bool:
    """Return whether its definition contains its payload, which is not stored again."""
    is_tool = event.subject.tool is not None
    return is_tool and event.event_kind == "fact" and bool(event.definition)


def payload_of(definition: JsonObject | None) -> JsonObject:
    """Return the payload of a tool (spec 2); empty if a damaged file lost the definition."""
    if definition is None:
        return {}
    return {
        "name": definition["name"],
        "description": definition["description"],
        "parameters": definition["input_schema"],
    }


def is_failure(event: Event) -> bool:
    """Return whether a call failed or was refused, or a server could not be used."""
    return event.change in _FAILURES or (event.change == "called" and "error" in event.payload)


def has_text(event: Event, text: str) -> bool:
    """Return whether its names or payload contain a text, ignoring case."""
    folded = text.casefold()
    return any(folded in x.casefold() for x in _texts_of(event))


def query_of(project: int, event_range: Range, subject: int, anchor: int) -> Select[Any]:
    """Return a query of the newest rows of a range, and of rows that may imply some.

    `since` must have been replaced by a position, see `first_since`.
    """
    query = select(events).where(
        events.c.project == project, events.c.position > min(event_range.after, LARGEST_POSITION)
    )
    if event_range.until is not None:
        query = query.where(events.c.position <= min(event_range.until, LARGEST_POSITION))
    query = query.where(*_conditions(project, event_range, subject, anchor))
    newest = query.order_by(events.c.position.desc())
    if event_range.limit is not None:
        newest = newest.limit(min(event_range.limit, LARGEST_POSITION))
    return newest


def _conditions(
    project: int, event_range: Range, subject: int, anchor: int
) -> Iterator[ColumnElement[bool]]:
    implies = events.c.followed_by.is_not(None)
    if event_range.about is not None and event_range.about.tool is None:
        yield events.c.anchor == anchor
    elif event_range.about is not None:
        yield or_(events.c.subject == subject, and_(events.c.subject == anchor, implies))
    if event_range.changes:
        of_kind = events.c.change.in_(event_range.changes)
        implying = [x for x, y in _IMPLIED.items() if y in event_range.changes]
        yield or_(of_kind, and_(events.c.change.in_(implying), implies)) if implying else of_kind
    if event_range.failed:
        yield events.c.failed.is_(True)
    if event_range.agent is not None:
        yield events.c.agent == event_range.agent
    text = event_range.text
    if text.isascii() and text.isprintable() and _ESCAPED.isdisjoint(text):
        name = subjects.c.source_name + "." + func.coalesce(subjects.c.tool, "")
        by_name = or_(subjects.c.source_name == "", _has(name, text))  # "" has our own label
        matching = select(subjects.c.id).where(subjects.c.project == project, by_name)
        own = (events.c.payload, events.c.reason, events.c.change, events.c.agent)
        yield or_(implies, events.c.subject.in_(matching), *(_has(x, text) for x in own))


_IMPLIED: Mapping[Change, Change] = {
    **dict.fromkeys(LISTINGS, "confirmed"),
    "disconnected": "unavailable",
}


def implied_by(change: Change) -> Change:
    """Return the change that a row of a source implies for tools without own rows."""
    return _IMPLIED[change]


def _has(column: Any, text: str) -> ColumnElement[bool]:
    return func.lower(type_coerce(column, Text)).contains(text.lower())


def _texts_of(event: Event) -> Iterator[str]:
    subject = event.subject
    yield subject.source_name if subject.tool is None else f"{subject.source_name}.{subject.tool}"
    yield event.change
    yield event.reason
    yield from _texts_in(x for key, x in event.payload.items() if key not in _OF_DEFINITIONS)


def _texts_in(values: Iterable[Any]) -> Iterator[str]:
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += cast("dict[str, Any]", value).values()
        elif isinstance(value, list):
            waiting += cast("list[Any]", value)
        elif isinstance(value, str):
            yield value


def last_position(connection: Connection, project: int) -> int:
    """Return the position of the newest event; 0 before the first."""
    query = select(func.max(events.c.position)).where(events.c.project == project)
    return connection.execute(query).scalar() or 0


def position_at(connection: Connection, project: int, moment: datetime) -> int:
    """Return the position of the newest event not later than this; 0 before the first.

    The order of writing decides, not the times: clocks are set back.
    """
    is_by_then = events.c.project == project, events.c.time <= moment.astimezone()
    query = select(events.c.position).where(*is_by_then).order_by(events.c.position.desc())
    return connection.execute(query.limit(1)).scalar() or 0


def first_since(connection: Connection, project: int, moment: datetime) -> int:
    """Return the position of the first event not earlier than this, or the next position.

    All later positions came later, whatever their times.
    """
    is_since = events.c.project == project, events.c.time >= moment.astimezone()
    query = select(events.c.position).where(*is_since).order_by(events.c.position).limit(1)
    first = connection.execute(query).scalar()
    return last_position(connection, project) + 1 if first is None else first


def begin_of(connection: Connection, project: int) -> int:
    """Return the position before the first stored event."""
    query = select(func.min(events.c.position)).where(events.c.project == project)
    first = connection.execute(query).scalar()
    return 0 if first is None else first - 1


def definitions_of(connection: Connection, digests: Collection[str]) -> dict[str, JsonObject]:
    """Return definitions of tools by digest, without lost ones."""
    bodies: dict[str, JsonObject] = {}
    for some in portions(digests):
        rows = connection.execute(select(definitions).where(definitions.c.digest.in_(some)))
        bodies |= {x.digest: loaded(x.body) for x in rows}
    return bodies
