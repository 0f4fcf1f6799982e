"""What is old goes: rows of the log from its begin on, and what nothing refers to any more.

What was known at the begin of the rest is kept as a snapshot, so that records can still be made
anew, and views of the past reach back to there.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, func, select

from ..core.json import JsonObject
from ..settings.sections import Retention
from . import log
from .callers import drop_unused_callers
from .database import insert_rows
from .inventories import definitions_in, drop_unused
from .packing import bundle_from
from .projection import definitions_of_base, fold_until, pack_fold
from .records import ToolRecord
from .store import Store
from .subjects import numbers_of
from .tables import (
    definitions,
    facts,
    inventories,
    kept_moment,
    log_rows,
    names,
    projects,
    runs,
    snapshots,
    subjects,
)

_DAY = timedelta(days=1)
_MEGABYTE = 1_000_000
_AT_ONCE = 50_000  # rows in one transaction, some seconds: others want to write, too
_VALUES_AT_ONCE = 500
_LEAST_ROWS = 1000  # that are kept however large they are
# Of what is too large so much more goes that it is not looked at again tomorrow.
_ROOM = 0.9
# What a row takes besides its texts, with its places in the indices. Measured.
_ROW_BYTES, _SUBJECT_BYTES = 140, 160
_PRUNED = "pruned:{}"


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many events went, until when they had happened, and whether there is more to go."""

    events: int = 0
    until: datetime | None = None
    is_all: bool = True


def prune(store: Store, keep: Retention, now: datetime, *, is_dry: bool = False) -> Pruned:
    """Remove what is older or more than is to be kept: some of it, so that others may write.

    With `is_dry` nothing is removed, and told what would be.

    Raises:
        StoreFailed: the store; nothing was removed.
    """
    project = store.project_id
    if is_dry:
        with store.reading() as connection:
            until = _last_to_go(connection, project, keep, now)
            return _told(connection, project, until, until)
    with store.writing(everything=True) as connection:
        _note(connection, project, now)
        last = _last_to_go(connection, project, keep, now)
        until = min(last, _position_of_row(connection, project, _AT_ONCE) or last)
        found = _told(connection, project, until, last)
        if found.events:
            _remove(connection, project, until)
    return found


def is_due(connection: Connection, project: int, now: datetime) -> bool:
    """Whether nobody looked for a day."""
    query = select(facts.c.value).where(facts.c.name == _PRUNED.format(project))
    last = connection.execute(query).scalar()
    return last is None or not last.isdigit() or kept_moment(now - _DAY) >= int(last)


def _note(connection: Connection, project: int, now: datetime) -> None:
    row = (_PRUNED.format(project), str(kept_moment(now)))
    insert_rows(connection, facts, [row], update=facts.c.value.name)


def _told(connection: Connection, project: int, until: int, last: int) -> Pruned:
    columns = func.sum(log_rows.c.span), func.max(log_rows.c.time)
    events, time = connection.execute(select(*columns).where(*_rows(project, until))).one()
    return Pruned(int(events or 0), time, until >= last)


def _last_to_go(connection: Connection, project: int, keep: Retention, now: datetime) -> int:
    """The position of the last row that is too old, or one too many; 0 without any.

    The order is that of positions: a clock that was set back changes nothing.
    """
    found = [0]
    if keep.days is not None:
        is_new = log_rows.c.time >= now - timedelta(days=keep.days)
        first = connection.execute(
            select(func.min(log_rows.c.position)).where(log_rows.c.project == project, is_new)
        ).scalar()
        until = log.LARGEST_POSITION if first is None else first - 1
        newest = select(func.max(log_rows.c.position)).where(*_rows(project, until))
        found.append(connection.execute(newest).scalar() or 0)
    if keep.megabytes is not None:
        found.append(_last_too_many(connection, project, keep.megabytes * _MEGABYTE))
    # The newest row stays: from it positions are counted on.
    last = log.last_position(connection, project)
    before = select(func.max(log_rows.c.position)).where(*_rows(project, last - 1))
    return min(max(found), connection.execute(before).scalar() or 0)


def _last_too_many(connection: Connection, project: int, most: float) -> int:
    rows, size, fixed = size_of(connection, project)
    if size + fixed <= most or not size:
        return 0
    part = min(1.0, (size + fixed - most * _ROOM) / size)
    count = min(math.ceil(rows * part), rows - _LEAST_ROWS)
    return _position_of_row(connection, project, count) or 0 if count > 0 else 0


def size_of(connection: Connection, project: int) -> tuple[int, float, float]:
    """How many rows of the log there are, what they take, and what the rest does, in bytes."""

    def total(*sums: Any, where: Any) -> list[int]:
        row = connection.execute(select(*sums).where(where)).one()
        return [int(x or 0) for x in row]

    texts = (log_rows.c.payload, log_rows.c.told, log_rows.c.reason, log_rows.c.definition)
    rows, *chars = total(
        func.count(), *(func.sum(_length(x)) for x in texts), where=log_rows.c.project == project
    )
    (listed,) = total(
        func.sum(_length(inventories.c.content)), where=inventories.c.project == project
    )
    (past,) = total(func.sum(_length(snapshots.c.records)), where=snapshots.c.project == project)
    (bodies,) = total(func.sum(_length(definitions.c.body)), where=definitions.c.body != "")
    (shared,) = total(func.count(projects.c.id), where=projects.c.id > 0)
    known, records = total(
        func.count(), func.sum(_length(subjects.c.record)), where=subjects.c.project == project
    )
    own = rows * _ROW_BYTES + sum(chars) + listed + past + bodies / max(1, shared)
    return rows, own, records + known * _SUBJECT_BYTES


def _length(column: Any) -> ColumnElement[int]:
    return func.length(column)


def _position_of_row(connection: Connection, project: int, number: int) -> int | None:
    mine = select(log_rows.c.position).where(log_rows.c.project == project)
    query = mine.order_by(log_rows.c.position).offset(number - 1).limit(1)
    return connection.execute(query).scalar()


def _remove(connection: Connection, project: int, until: int) -> None:
    """Remove the rows up to there, and what only they referred to."""
    fold = fold_until(connection, project, until)
    connection.execute(delete(log_rows).where(*_rows(project, until)))
    gone = _gone(connection, project, fold.tools.values())
    for subject in gone:
        del fold.tools[subject.subject]
    old = snapshots.c.project == project, snapshots.c.position <= until
    connection.execute(delete(snapshots).where(*old))
    insert_rows(connection, snapshots, [(project, until, pack_fold(fold))])
    told = select(log_rows.c.run).where(log_rows.c.project == project).distinct()
    ended = runs.c.project == project, runs.c.ended.is_not(None), runs.c.number.not_in(told)
    connection.execute(delete(runs).where(*ended))
    drop_unused(connection, project)
    drop_unused_callers(connection, project)
    _drop_definitions(connection)


def _gone(connection: Connection, project: int, known: Iterable[ToolRecord]) -> list[ToolRecord]:
    """Tools that are not there any more, and of which nothing is told: they are forgotten."""
    found = [x for x in known if not x.is_available and x.is_enabled and not x.accepted]
    numbers = numbers_of(connection, project, (x.subject for x in found))
    is_told = and_(log_rows.c.project == project, log_rows.c.subject == subjects.c.id)
    lost = set[int]()
    for some in _portions(numbers.values()):
        of_them = subjects.c.project == project, subjects.c.id.in_(some)
        query = select(subjects.c.id, subjects.c.record).where(*of_them, ~exists().where(is_told))
        is_gone = {x.id for x in connection.execute(query) if not _is_there(x.record)}
        for table in (subjects, names):
            which = table.c.project == project, table.c.id.in_(is_gone)
            connection.execute(delete(table).where(*which))
        lost |= is_gone
    return [x for x in found if numbers.get(x.subject) in lost]


def _is_there(record: Any) -> bool:
    return bool(record) and any(record.get(x) for x in ("is_available", "is_disabled", "accepted"))


def _drop_definitions(connection: Connection) -> None:
    """Those that nothing names, of no project."""
    named = select(log_rows.c.definition).distinct()
    used = set[str | None](connection.execute(named).scalars())
    told = select(log_rows.c.told).where(log_rows.c.told.is_not(None)).distinct()
    for value in connection.execute(told).scalars():
        used.update(x[2] for x in bundle_from(value, None, "").then)
    for record in connection.execute(select(subjects.c.record)).scalars():
        known: JsonObject = record or {}
        used.update((known.get("definition"), known.get("accepted")))
    used |= definitions_in(connection) | definitions_of_base(connection)
    unused = set(connection.execute(select(definitions.c.digest)).scalars()) - used
    for some in _portions(unused):
        connection.execute(delete(definitions).where(definitions.c.digest.in_(some)))


def _rows(project: int, until: int) -> tuple[ColumnElement[bool], ...]:
    return log_rows.c.project == project, log_rows.c.position <= until


def _portions(values: Collection[Any]) -> Iterator[list[Any]]:
    wanted = list(values)
    return (wanted[n : n + _VALUES_AT_ONCE] for n in range(0, len(wanted), _VALUES_AT_ONCE))
