"""Retention: removes old rows of the log, and definitions that nothing refers to.

A snapshot at the new start of the log stays: views of the past reach back to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, select, true, update

from ..settings.sections import Retention
from .database import portions
from .event import Subject
from .events_table import begin_of, first_since, last_position
from .history import History
from .records import Fold
from .snapshots import last_snapshot, write_snapshot
from .tables import definitions, events, projects, runs, snapshots

_DAY = timedelta(days=1)
_MEGABYTE = 1_000_000
_AT_ONCE = 50_000  # rows of one transaction of some seconds, so that others can write
_LEAST_ROWS = 1000  # always stay, however large they are
_ROOM = 0.9  # prunes to this part of the limit
_ROW_BYTES = 120  # measured, with index entries, without texts


@dataclass(frozen=True, slots=True)
class Pruned:
    """Number of removed rows, and the time of the last one."""

    events: int = 0
    until: datetime | None = None


def prune(history: History, keep: Retention, now: datetime, *, is_dry: bool = False) -> Pruned:
    """Remove rows beyond the age or size to keep. With `is_dry` they are only counted.

    Raises:
        StoreFailed: the store failed; some of them may have been removed.
    """
    project = history.project_id
    with history.reading() as connection:
        begin, last = begin_of(connection, project), _last_expired(connection, project, keep, now)
        time = select(func.max(events.c.time)).where(*_rows(project, last))
        pruned = Pruned(max(last - begin, 0), connection.execute(time).scalar())
    while not is_dry and begin < last:
        begin = min(begin + _AT_ONCE, last)
        with history.writing(everything=True) as connection:
            if begin_of(connection, project) < begin:  # otherwise another process was faster
                _remove(connection, history, begin)
    return pruned


def is_due(history: History, now: datetime) -> bool:
    """Return whether no process pruned for a day, and note that this one does."""
    mine = projects.c.id == history.project_id
    with history.writing() as connection:
        last = connection.execute(select(projects.c.pruned).where(mine)).scalar()
        is_due = last is None or now - last >= _DAY
        if is_due:
            connection.execute(update(projects).where(mine).values(pruned=now))
    return is_due


def _last_expired(connection: Connection, project: int, keep: Retention, now: datetime) -> int:
    """Return the position of the last row beyond the age or size.

    Positions decide the order: a clock that was set back changes nothing.
    """
    last = 0
    if keep.days is not None:
        last = first_since(connection, project, now - timedelta(days=keep.days)) - 1
    if keep.megabytes is not None:
        last = max(last, _last_too_many(connection, project, keep.megabytes * _MEGABYTE))
    # The newest row stays: the next position follows it.
    return min(last, last_position(connection, project) - 1)


def _last_too_many(connection: Connection, project: int, most: float) -> int:
    size = size_of(connection, project)
    if size <= most:
        return 0
    begin, newest = begin_of(connection, project), last_position(connection, project)
    count = math.ceil((newest - begin) * (1 - most * _ROOM / size))
    return min(begin + count, newest - _LEAST_ROWS)


def size_of(connection: Connection, project: int) -> float:
    """Return the bytes of the log: of its rows, their texts, and what they refer to."""

    def total(column: ColumnElement[Any], where: ColumnElement[bool]) -> int:
        query = select(func.coalesce(func.sum(func.length(column)), 0)).where(where)
        return connection.execute(query).scalar_one()

    mine = events.c.project == project
    columns = events.c.payload, events.c.reason, events.c.definition
    texts = sum(total(x, mine) for x in columns)
    past = total(snapshots.c.records, snapshots.c.project == project)
    count = connection.execute(select(func.count()).select_from(projects)).scalar_one()
    bodies = total(definitions.c.body, true()) / count  # projects share them
    rows = last_position(connection, project) - begin_of(connection, project)
    return rows * _ROW_BYTES + texts + past + bodies


def _remove(connection: Connection, history: History, until: int) -> None:
    """Remove the rows up to a position, and what only they referred to."""
    project, log = history.project_id, history.log
    now, newest = log.catch_up(connection), last_position(connection, project)
    fold = log.fold_at(connection, until)
    connection.execute(delete(events).where(*_rows(project, until)))
    old = snapshots.c.project == project, snapshots.c.position <= until
    connection.execute(delete(snapshots).where(*old))
    former = _former_tools(connection, history, fold)
    for position, state in ((until, fold), (newest, now)):
        state.forget(former)
        write_snapshot(connection, project, position, state)
    log.forget()
    in_log = select(events.c.run).where(events.c.project == project, events.c.run.is_not(None))
    ended = runs.c.project == project, runs.c.ended.is_not(None), runs.c.number.not_in(in_log)
    connection.execute(delete(runs).where(*ended))
    _drop_definitions(connection)


def _former_tools(connection: Connection, history: History, fold: Fold) -> list[Subject]:
    """Return former tools that neither the log nor a decision mentions."""
    query = select(events.c.subject).where(events.c.project == history.project_id).distinct()
    in_log = set(connection.execute(query).scalars())
    former = [x for x in fold.plain_tools() if not x.is_available and x.is_enabled]
    subjects = [x.subject for x in former if not x.accepted]
    numbers = history.log.add_subjects(connection, subjects)
    return [x for x in subjects if numbers[x] not in in_log]


def _drop_definitions(connection: Connection) -> None:
    """Remove definitions that no project refers to, in its log or before the log's start."""
    query = select(events.c.definition).where(events.c.definition.is_not(None)).distinct()
    referenced = set[str | None](connection.execute(query).scalars())
    for project in connection.execute(select(projects.c.id)).scalars():
        _, fold = last_snapshot(connection, project, begin_of(connection, project))
        referenced |= {y for x in fold.plain_tools() for y in (x.definition, x.accepted)}
    unused = set(connection.execute(select(definitions.c.digest)).scalars()) - referenced
    for some in portions(unused):
        connection.execute(delete(definitions).where(definitions.c.digest.in_(some)))


def _rows(project: int, until: int) -> tuple[ColumnElement[bool], ...]:
    return events.c.project == project, events.c.position <= until
