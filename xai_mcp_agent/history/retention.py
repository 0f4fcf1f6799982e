"""Retention: removes old rows of the log, and definitions that nothing refers to.

A snapshot at the new start of the log stays: views of the past reach back to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, delete, func, select, true

from ..settings.sections import Retention
from .database import insert_missing, portions
from .event import Subject
from .events_table import LARGEST_POSITION, last_position
from .history import History
from .log import write_snapshot
from .records import Fold
from .snapshots import unpack_fold
from .tables import definitions, encode_time, events, facts, projects, runs, snapshots, subjects

_DAY = timedelta(days=1)
_MEGABYTE = 1_000_000
_AT_ONCE = 50_000  # rows of one transaction of some seconds, so that others can write
_LEAST_ROWS = 1000  # always stay, however large they are
_ROOM = 0.9  # prunes to this part of the limit
_ROW_BYTES, _SUBJECT_BYTES = 120, 110  # measured, with index entries, without texts
_PRUNED = "pruned:{}"


@dataclass(frozen=True, slots=True)
class Pruned:
    """Number of removed rows, the time of the last one, and whether more are too old."""

    events: int = 0
    until: datetime | None = None
    is_all: bool = True


def prune(history: History, keep: Retention, now: datetime, *, is_dry: bool = False) -> Pruned:
    """Remove rows beyond the age or size to keep, at most `_AT_ONCE` rows at a time.

    With `is_dry` the rows are only counted.

    Raises:
        StoreFailed: the store failed; nothing was removed.
    """
    project = history.project_id
    if is_dry:
        with history.reading() as connection:
            until = _last_expired(connection, project, keep, now)
            return _count_rows(connection, project, until, until)
    with history.writing(everything=True) as connection:
        row = {"name": _PRUNED.format(project), "value": str(encode_time(now))}
        insert_missing(connection, facts, [row], update="value")
        last = _last_expired(connection, project, keep, now)
        until = min(last, _position_of_row(connection, project, _AT_ONCE) or last)
        pruned = _count_rows(connection, project, until, last)
        if pruned.events:
            _remove(connection, history, until)
    return pruned


def is_due(connection: Connection, project: int, now: datetime) -> bool:
    """Return whether no process pruned for a day."""
    query = select(facts.c.value).where(facts.c.name == _PRUNED.format(project))
    last = connection.execute(query).scalar()
    return last is None or not last.isdigit() or encode_time(now - _DAY) >= int(last)


def _count_rows(connection: Connection, project: int, until: int, last: int) -> Pruned:
    columns = func.count(), func.max(events.c.time)
    count, time = connection.execute(select(*columns).where(*_rows(project, until))).one()
    return Pruned(count, time, until >= last)


def _last_expired(connection: Connection, project: int, keep: Retention, now: datetime) -> int:
    """Return the position of the last row beyond the age or size; 0 without any.

    Positions decide the order: a clock that was set back changes nothing.
    """
    last = 0
    if keep.days is not None:
        is_new = events.c.time >= now - timedelta(days=keep.days)
        query = select(events.c.position).where(events.c.project == project, is_new)
        first = connection.execute(query.order_by(events.c.position).limit(1)).scalar()
        last = LARGEST_POSITION if first is None else first - 1
    if keep.megabytes is not None:
        last = max(last, _last_too_many(connection, project, keep.megabytes * _MEGABYTE))
    # The newest row stays: the next position follows it.
    newest = last_position(connection, project) - 1
    query = select(func.max(events.c.position)).where(*_rows(project, min(last, newest)))
    return connection.execute(query).scalar() or 0


def _last_too_many(connection: Connection, project: int, most: float) -> int:
    rows, size, fixed = size_of(connection, project)
    if size + fixed <= most or not size:
        return 0
    part = min(1.0, (size + fixed - most * _ROOM) / size)
    count = min(math.ceil(rows * part), rows - _LEAST_ROWS)
    return _position_of_row(connection, project, count) or 0 if count > 0 else 0


def size_of(connection: Connection, project: int) -> tuple[int, float, float]:
    """Return the rows of the log, their bytes, and the bytes that pruning does not free."""

    def total(where: ColumnElement[bool], *columns: Any) -> int:
        sums = (func.coalesce(func.sum(func.length(x)), 0) for x in columns)
        return sum(connection.execute(select(*sums).where(where)).one())

    def count(table: Table, *where: ColumnElement[bool]) -> int:
        query = select(func.count()).select_from(table).where(*where)
        return connection.execute(query).scalar_one()

    mine = events.c.project == project
    rows = count(events, mine)
    texts = total(mine, events.c.payload, events.c.reason, events.c.definition)
    past = total(snapshots.c.project == project, snapshots.c.records)
    bodies = total(true(), definitions.c.body) / max(1, count(projects))
    fixed = count(subjects, subjects.c.project == project) * _SUBJECT_BYTES
    return rows, rows * _ROW_BYTES + texts + past + bodies, fixed


def _position_of_row(connection: Connection, project: int, number: int) -> int | None:
    mine = select(events.c.position).where(events.c.project == project)
    query = mine.order_by(events.c.position).offset(number - 1).limit(1)
    return connection.execute(query).scalar()


def _remove(connection: Connection, history: History, until: int) -> None:
    """Remove the rows up to a position, and what only they referred to."""
    project, log = history.project_id, history.log
    now, newest = log.catch_up(connection), last_position(connection, project)
    fold = log.fold_at(connection, until)
    connection.execute(delete(events).where(*_rows(project, until)))
    old = snapshots.c.project == project, snapshots.c.position <= until
    connection.execute(delete(snapshots).where(*old))
    forgotten = _forgotten_tools(connection, history, fold)
    for position, state in ((until, fold), (newest, now)):
        state.forget(forgotten)
        write_snapshot(connection, project, position, state)
    log.forget()
    in_log = select(events.c.run).where(events.c.project == project, events.c.run.is_not(None))
    ended = runs.c.project == project, runs.c.ended.is_not(None), runs.c.number.not_in(in_log)
    connection.execute(delete(runs).where(*ended))
    _drop_definitions(connection)


def _forgotten_tools(connection: Connection, history: History, fold: Fold) -> list[Subject]:
    """Return former tools that neither the log nor a decision mentions."""
    numbers = select(events.c.subject).where(events.c.project == history.project_id).distinct()
    in_log = history.log.subjects_of(connection, connection.execute(numbers).scalars())
    mentioned = {*in_log.values()}
    return [
        x.subject
        for x in fold.plain_tools()
        if not (x.is_available or not x.is_enabled or x.accepted) and x.subject not in mentioned
    ]


def _drop_definitions(connection: Connection) -> None:
    """Remove definitions that no project refers to."""
    query = select(events.c.definition).where(events.c.definition.is_not(None)).distinct()
    referenced = set[str | None](connection.execute(query).scalars())
    for packed in connection.execute(select(snapshots.c.records)).scalars():
        tools = unpack_fold(packed).plain_tools()
        referenced |= {y for x in tools for y in (x.definition, x.accepted)}
    unused = set(connection.execute(select(definitions.c.digest)).scalars()) - referenced
    for some in portions(unused):
        connection.execute(delete(definitions).where(definitions.c.digest.in_(some)))


def _rows(project: int, until: int) -> tuple[ColumnElement[bool], ...]:
    return events.c.project == project, events.c.position <= until
