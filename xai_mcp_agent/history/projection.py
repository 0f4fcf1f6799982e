"""Projection of the log into record tables, its rebuild, and snapshots of past records."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import (
    Connection,
    Row,
    Table,
    Text,
    bindparam,
    delete,
    func,
    select,
    type_coerce,
    update,
)

from ..core.json import JsonObject
from . import log
from .database import insert_rows
from .event import Change, Event, Subject
from .kept_events import subject_of
from .log import Entry, Range
from .records import Fold, Known, Records, SourceRecord, ToolRecord, as_offered
from .records_json import source_as_json, source_from_json, tool_as_json, tool_from_json
from .subjects import numbered, restore_names, row_of
from .tables import (
    RECORDS,
    STALE,
    Unreadable,
    facts,
    kept_json,
    log_rows,
    projects,
    snapshots,
    subjects,
)

# So many rows are read in a third of a second. Where there are more tools than that one costs
# more to write and to read, and so they are further apart.
_ROWS_BETWEEN = 10_000
_FAST = 1  # zlib's quickest still makes a tenth of it

# By which a tool may be there, or another one, than an inventory says.
_SEEN: tuple[Change, ...] = ("discovered", "confirmed", "changed", "returned")
_LISTED: tuple[Change, ...] = ("seeded", "unavailable", *_SEEN)
_EVENTS_TOGETHER = 10_000
_IS_STALE = (facts.c.name == RECORDS) & (facts.c.value == STALE)
_IS_TOOL = subjects.c.tool.is_not(None) & subjects.c.record.is_not(None)
_IS_SOURCE = subjects.c.tool.is_(None) & subjects.c.record.is_not(None)
# Made once: it is asked for every source and tool that something happens to.
_ONE = select(subjects).where(
    subjects.c.project == bindparam("project"),
    subjects.c.digest == bindparam("digest"),
)


class Projection:
    """The records of one project, within one transaction: read when asked for, written by `save`.

    Events are taken in with `add`; the records are always those after the last one.
    """

    def __init__(self, connection: Connection, project: int) -> None:
        self.connection = connection
        self.rows = 0
        """How many rows of the log were written."""
        self._project = project
        self._fold = Fold()
        self._read: set[Subject] = set()
        self._numbers: dict[Subject, int] = {}
        self._whole: set[Subject] = set()  # sources of which all tools were read
        self._written: set[Subject] = set()
        self._new: list[Event] = []
        self._folds = 0  # how many of them are in the records: many together take less time
        self._bodies: dict[str, str] = {}
        self._before: dict[Subject, str] = {}  # definitions, before those events

    def source(self, subject: Subject) -> SourceRecord | None:
        """What is known of a source."""
        self.read(subject)
        return self._folded().sources.get(subject)

    def tool(self, subject: Subject) -> ToolRecord | None:
        """What is known of a tool."""
        self.read(subject)
        return self._folded().tool(subject)

    def read(self, subject: Subject) -> None:
        """Have what is known of it, and of its source, at hand."""
        if subject in self._read:
            return
        self._read.add(subject)
        if subject.tool is not None:
            self.read(subject.anchor)
        key = {"project": self._project, "digest": subject.digest}
        for row in self.connection.execute(_ONE, key):
            self._numbers[subject] = row.id
            if row.record is None:
                continue
            if subject.tool is None:
                self._fold.sources[subject] = _source(row)
            else:
                self._fold.tools[subject] = _tool(row)

    def known(self, subject: Subject) -> Known:
        """What is known of a source and of all the tools it ever had."""
        self._whole.add(subject)
        self.read(subject)
        number = self._numbers.get(subject, 0)
        for row in self._rows(_IS_TOOL, subjects.c.anchor == number):
            record = _tool(row)
            self._numbers[record.subject] = row.id
            if record.subject not in self._read:
                self._read.add(record.subject)
                self._fold.tools[record.subject] = record
        fold = self._folded()
        mine = [x for x in fold.tools if x.anchor == subject]
        return Known(self.source(subject), {x.tool or "": fold.require(x) for x in mine})

    def sources_of(self, run: str) -> list[Subject]:
        """The sources that a run has connected."""
        return [x.subject for x in self.sources() if run in x.runs]

    def sources(self) -> list[SourceRecord]:
        """All sources there ever were."""
        return [*map(_source, self._rows(_IS_SOURCE))]

    def definitions(self, digests: Iterable[str]) -> dict[str, JsonObject]:
        """Definitions by their digests, also those that are not written yet."""
        wanted = set(digests)
        new = {x: json.loads(self._bodies[x]) for x in wanted & self._bodies.keys()}
        return new | log.definitions_of(self.connection, wanted - new.keys())

    def tools_of(self, sources: Collection[str]) -> list[ToolRecord]:
        """All tools that some sources have or had, by the names of the sources."""
        return self._tools(subjects.c.source_name.in_(sources))

    def newest_tools(self) -> tuple[list[ToolRecord], set[Subject]]:
        """The records of tools that were written, and all of the sources that are named beside."""
        written, whole, fold = self._written, self._whole, self._folded()
        of_them = [x for x in fold.tools if x.anchor in whole or x in written]
        return [fold.require(x) for x in of_them], whole

    def everything(self) -> Records:
        """All sources and tools there ever were, as they are kept."""
        return Fold(self.sources(), map(_tool, self._rows(_IS_TOOL))).records()

    def add(self, events: Iterable[Event], bodies: Mapping[str, str] | None = None) -> None:
        """Take events in. What they are about must have been read before.

        `bodies` are the definitions they name, by digest, as far as those may be new.
        """
        self._new += events
        self._bodies |= bodies or {}

    def save(self) -> int:
        """Write all that was added, into the log and the records; the position of the last event.

        Nothing is written and 0 given back if nothing was added.
        """
        if not self._new:
            return 0
        fold = self._folded()
        last, rows = log.append(
            self.connection,
            self._project,
            self._new,
            self._bodies,
            self._definition_of,
            self._numbers,
        )
        self._write(fold, fold.changed)
        self._written |= fold.changed
        self._new, self._bodies, self._folds, fold.changed = [], {}, 0, set()
        self.rows += rows
        return last

    def replace(self, fold: Fold) -> None:
        """Have these records, and no others."""
        mine = subjects.c.project == self._project
        self.connection.execute(update(subjects).where(mine).values(record=None))
        self._write(fold, {*fold.sources, *fold.tools})

    def _definition_of(self, tool: Subject) -> str:
        record = self._fold.tools.get(tool)
        return record.definition if record else ""

    def _folded(self) -> Fold:
        """The records, with all that was added."""
        if self._folds < len(self._new):
            self._fold.take(self._new[self._folds :])
            self._folds = len(self._new)
        return self._fold

    def _tools(self, *conditions: Any) -> list[ToolRecord]:
        """Those that fit, with what is known of their sources."""
        fold = Fold((), map(_tool, self._rows(_IS_TOOL, *conditions)))
        names = {x.source for x in fold.tools}
        if names:
            sources = self._rows(_IS_SOURCE, subjects.c.source_name.in_(names))
            fold.sources = {x.subject: x for x in map(_source, sources)}
        return [fold.require(x) for x in fold.tools]

    def _rows(self, *conditions: Any) -> Iterable[Row[Any]]:
        query = select(subjects).where(subjects.c.project == self._project, *conditions)
        return self.connection.execute(query)

    def _write(self, fold: Fold, changed: Collection[Subject]) -> None:
        numbers = numbered(self.connection, self._project, changed, self._numbers)
        self._numbers |= numbers
        rows = (row_of(self._project, numbers, x, _kept(fold, x)) for x in changed)
        insert_rows(self.connection, subjects, rows, update=subjects.c.record.name)


def _kept(fold: Fold, subject: Subject) -> str:
    if subject.tool is None:
        return kept_json(source_as_json(fold.sources[subject]))
    return kept_json(tool_as_json(fold.tools[subject]))


def _source(row: Row[Any]) -> SourceRecord:
    return source_from_json(subject_of(row.kind, row.source_name, None), row.record)


def _tool(row: Row[Any]) -> ToolRecord:
    return tool_from_json(subject_of(row.kind, row.source_name, row.tool), row.record)


class Snapshots:
    """Of one project, as one process sees to them."""

    def __init__(self, project: int) -> None:
        self._project = project
        self._left = 0  # rows that may be written before the store is asked

    def take_if_due(self, connection: Connection, position: int, rows: int) -> None:
        """Write one of the records as they are, which are those at this position.

        So many `rows` were written since this was asked last.
        """
        self._left -= rows
        if not rows or self._left > 0:
            return
        # Others may have written one.
        last = select(func.max(snapshots.c.position)).where(snapshots.c.project == self._project)
        after = connection.execute(last).scalar() or 0
        mine = log_rows.c.project == self._project, log_rows.c.position > after
        new = _counted(connection, log_rows, *mine)
        between = _ROWS_BETWEEN + _counted(
            connection, subjects, subjects.c.project == self._project
        )
        self._left = between - new
        if self._left <= 0:
            take_snapshot(connection, self._project, position)
            self._left = between


def _counted(connection: Connection, table: Table, *conditions: Any) -> int:
    query = select(func.count()).select_from(table).where(*conditions)
    return connection.execute(query).scalar_one()


def take_snapshot(connection: Connection, project: int, position: int) -> None:
    """Write one of the records as they are, which are those at this position."""
    insert_rows(connection, snapshots, [(project, position, _packed(connection, project))])


def records_until(
    connection: Connection, project: int, until: int | None, wanted: Range | None = None
) -> Records:
    """What the log comes to at a position, or at its end.

    With `wanted` only those events count that it asks for, since the snapshot before.
    """
    return fold_until(connection, project, until, wanted).records()


def fold_until(
    connection: Connection, project: int, until: int | None, wanted: Range | None = None
) -> Fold:
    """As `records_until`."""
    wanted = wanted or Range()
    after, fold = _nearest(connection, project, until)
    found = log.entries(connection, project, replace(wanted, after=after, until=until))
    _take_entries(fold, found, wanted.changes)
    return fold


def _take_entries(fold: Fold, found: Iterable[Entry], changes: Collection[Change]) -> None:
    """Take rows in. Of an inventory that is as it was taken in last, nothing is taken again."""
    known: dict[Subject, str] = {}
    alone = list[Event]()  # of which many together take less time
    for entry in found:
        head, tools = entry.event, entry.tools
        if head.subject.tool is not None:
            if entry.is_within:
                alone.append(head)
            if head.change in _LISTED:
                known.pop(head.subject.anchor, None)
        else:
            if entry.is_within and (not changes or head.change in changes):
                alone.append(head)
            inventory = tools.inventory and tools.inventory.digest
            is_known = inventory is not None and known.get(head.subject) == inventory
            numbers = tools.special() if is_known else range(len(tools))
            alone += (entry.event_of(x) for x in numbers if x in entry.numbers)
            if tools and (not is_known or tools.then):
                known.pop(head.subject, None)
            if inventory and entry.is_whole and not tools.then and tools.change in _SEEN:
                known[head.subject] = inventory
        if len(alone) > _EVENTS_TOGETHER:
            fold.take(alone)
            alone.clear()
    fold.take(alone)


def _nearest(connection: Connection, project: int, until: int | None) -> tuple[int, Fold]:
    """The last one up to a position, and where it was taken; nothing before the first."""
    query = select(snapshots).where(snapshots.c.project == project)
    if until is not None:
        query = query.where(snapshots.c.position <= until)
    row = connection.execute(query.order_by(snapshots.c.position.desc()).limit(1)).first()
    return (0, Fold()) if row is None else (row.position, unpacked(row.records))


def _packed(connection: Connection, project: int) -> bytes:
    """The records as JSON, which they are already."""
    names = subjects.c.kind, subjects.c.source_name, subjects.c.tool
    query = select(type_coerce(subjects.c.record, Text), *names)
    mine = query.where(subjects.c.project == project, subjects.c.record.is_not(None))
    lines = (
        f"[{kept_json(x if x[-1] is not None else x[:-1])},{record}]"
        for record, *x in connection.execute(mine)
    )
    return zlib.compress(f"[{','.join(lines)}]".encode(), _FAST)


def pack_fold(fold: Fold) -> bytes:
    """These records as a snapshot has them."""
    lines: list[str] = []
    for subject in (*fold.sources, *fold.tools):
        named = [subject.kind.name, subject.source]
        named += [] if subject.tool is None else [subject.tool]
        lines.append(f"[{kept_json(named)},{_kept(fold, subject)}]")
    return zlib.compress(f"[{','.join(lines)}]".encode(), _FAST)


def definitions_of_base(connection: Connection) -> set[str]:
    """The digests of the definitions that the first snapshots name, of all projects."""
    first = select(snapshots.c.project, func.min(snapshots.c.position)).group_by(
        snapshots.c.project
    )
    found: set[str] = set()
    for project, position in connection.execute(first).all():
        _, fold = _nearest(connection, project, position)
        found.update(y for x in fold.tools.values() for y in (x.definition, x.accepted))
    return found


def begin_of(connection: Connection, project: int) -> int:
    """The position before the first event that is kept; what was known there is the first."""
    mine = log_rows.c.project == project
    query = select(log_rows.c.position, log_rows.c.span).where(mine)
    first = connection.execute(query.order_by(log_rows.c.position).limit(1)).first()
    if first is not None:
        return first.position - first.span
    base = select(func.max(snapshots.c.position)).where(snapshots.c.project == project)
    return connection.execute(base).scalar() or 0


def unpacked(data: bytes) -> Fold:
    """The records that a snapshot has.

    Raises:
        Unreadable: it is damaged.
    """
    try:
        rows = json.loads(zlib.decompress(data))
    except (ValueError, zlib.error) as cause:
        raise Unreadable("A snapshot is not what was written.") from cause
    fold = Fold()
    for names, record in rows:
        kind, source, tool = names if len(names) > 2 else (*names, None)
        subject = subject_of(kind, source, tool)
        if tool is None:
            fold.sources[subject] = source_from_json(subject, record)
        else:
            fold.tools[subject] = tool_from_json(subject, record)
    for subject, tool in fold.tools.items():
        fold.tools[subject] = as_offered(tool, fold.sources.get(subject.anchor))
    return fold


def rebuild(connection: Connection, project: int) -> None:
    """Have the records of a project as its log gives them. Within a transaction for writing."""
    Projection(connection, project).replace(fold_until(connection, project, None))


def is_stale(connection: Connection) -> bool:
    """Whether the records are not what the log comes to, because the file was mended."""
    return connection.execute(select(facts).where(_IS_STALE)).first() is not None


def rebuild_stale(connection: Connection) -> None:
    """Have all records as the log gives them, if they are not. As `rebuild`."""
    if is_stale(connection):
        restore_names(connection)
        for project in connection.execute(select(projects.c.id)).scalars().all():
            # What was pruned is in the one at the begin only.
            later = snapshots.c.position > begin_of(connection, project)
            connection.execute(delete(snapshots).where(snapshots.c.project == project, later))
        for project in connection.execute(select(projects.c.id)).scalars().all():
            rebuild(connection, project)
        connection.execute(delete(facts).where(_IS_STALE))
