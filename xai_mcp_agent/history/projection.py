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
    Select,
    Table,
    Text,
    bindparam,
    delete,
    func,
    or_,
    select,
    type_coerce,
)

from ..core.tools import JsonObject
from . import log
from .database import insert_rows
from .event import Event, Subject
from .log import Range, subject_of
from .records import (
    MARKS_OF_DECISIONS,
    Known,
    Records,
    SourceRecord,
    ToolRecord,
    source_as_json,
    source_from_json,
    tool_as_json,
    tool_from_json,
)
from .tables import (
    RECORDS,
    STALE,
    Unreadable,
    facts,
    kept_json,
    kept_words,
    projects,
    snapshots,
    sources,
    tools,
)

# So many events are read in a third of a second. Where there are more tools than that one costs
# more to write and to read, and so they are further apart.
_EVENTS_BETWEEN = 10_000
_FAST = 1  # zlib's quickest still makes a tenth of it

_IS_STALE = (facts.c.name == RECORDS) & (facts.c.value == STALE)


def _one_of(table: Table) -> Select[Any]:
    mine = table.c.project == bindparam("project")
    return select(table).where(mine, table.c.subject == bindparam("subject"))


# Made once: they are asked for every source and tool that something happens to.
_SOURCE, _TOOL = _one_of(sources), _one_of(tools)


class Projection:
    """The records of one project, within one transaction: read when asked for, written by `save`.

    Events are taken in with `add`; the records are always those after the last one.
    """

    def __init__(self, connection: Connection, project: int) -> None:
        self.connection = connection
        self._project = project
        self._records = Records()
        self._read: set[Subject] = set()
        self._whole: set[Subject] = set()  # sources of which all tools were read
        self._written: set[Subject] = set()
        self._new: list[Event] = []
        self._folds = 0  # how many of them are in the records: many together take less time
        self._bodies: dict[str, str] = {}

    def source(self, subject: Subject) -> SourceRecord | None:
        """What is known of a source."""
        self.read(subject)
        return self._folded().sources.get(subject)

    def tool(self, subject: Subject) -> ToolRecord | None:
        """What is known of a tool."""
        self.read(subject)
        return self._folded().tools.get(subject)

    def read(self, subject: Subject) -> None:
        """Have what is known of it at hand."""
        if subject in self._read:
            return
        self._read.add(subject)
        key = {"project": self._project, "subject": subject.digest}
        if subject.tool is None:
            for row in self.connection.execute(_SOURCE, key):
                self._records.sources[subject] = _source(row)
        else:
            for row in self.connection.execute(_TOOL, key):
                self._records.tools[subject] = _tool(row)

    def known(self, subject: Subject) -> Known:
        """What is known of a source and of all the tools it ever had."""
        self._whole.add(subject)
        rows = self._rows(tools, tools.c.anchor == subject.digest)
        for record in map(_tool, rows):
            if record.subject not in self._read:
                self._read.add(record.subject)
                self._records.tools[record.subject] = record
        mine = (x for x in self._folded().tools.values() if x.subject.anchor == subject)
        return Known(self.source(subject), {x.name: x for x in mine})

    def sources_of(self, run: str) -> list[Subject]:
        """The sources that a run has connected."""
        return [x.subject for x in self.sources() if run in x.runs]

    def sources(self) -> list[SourceRecord]:
        """All sources there ever were."""
        return [*map(_source, self._rows(sources))]

    def definitions(self, digests: Iterable[str]) -> dict[str, JsonObject]:
        """Definitions by their digests, also those that are not written yet."""
        wanted = set(digests)
        new = {x: json.loads(self._bodies[x]) for x in wanted & self._bodies.keys()}
        return new | log.definitions_of(self.connection, wanted - new.keys())

    def tools_of(self, sources: Collection[str]) -> list[ToolRecord]:
        """All tools that some sources have or had, by the names of the sources."""
        return [_tool(row) for row in self._rows(tools, tools.c.source_name.in_(sources))]

    def decided(self) -> list[ToolRecord]:
        """All tools about which something was decided."""
        record = type_coerce(tools.c.record, Text)  # most are not even read
        is_decided = or_(*(record.contains(mark, autoescape=True) for mark in MARKS_OF_DECISIONS))
        found = map(_tool, self._rows(tools, is_decided))
        return [x for x in found if x.accepted or not x.is_enabled]

    def newest_tools(self) -> tuple[list[ToolRecord], set[Subject]]:
        """The records of tools that were written, and all of the sources that are named beside."""
        found = self._records.tools.items()
        written, whole = self._written, self._whole
        return [x for tool, x in found if tool.anchor in whole or tool in written], whole

    def everything(self) -> Records:
        """All sources and tools there ever were, as they are kept."""
        records = Records()
        records.sources = {x.subject: x for x in self.sources()}
        records.tools = {x.subject: x for x in map(_tool, self._rows(tools))}
        return records

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
        last = log.append(self.connection, self._project, self._new, self._bodies)
        touched, records = {x.subject for x in self._new}, self._folded()
        self._write(sources, [records.sources[x] for x in touched if x.tool is None])
        self._write(tools, [records.tools[x] for x in touched if x.tool is not None])
        self._new, self._bodies, self._folds = [], {}, 0
        self._written |= touched
        return last

    def replace(self, records: Records) -> None:
        """Have these records, and no others."""
        for table in (sources, tools):
            self.connection.execute(table.delete().where(table.c.project == self._project))
        self._write(sources, records.sources.values())
        self._write(tools, records.tools.values())

    def _folded(self) -> Records:
        """The records, with all that was added."""
        if self._folds < len(self._new):
            self._records.fold(self._new[self._folds :])
            self._folds = len(self._new)
        return self._records

    def _rows(self, table: Table, *conditions: Any) -> Iterable[Row[Any]]:
        query = select(table).where(table.c.project == self._project, *conditions)
        return self.connection.execute(query)

    def _write(self, table: Table, records: Iterable[SourceRecord | ToolRecord]) -> None:
        rows = (_row(self._project, record) for record in records)
        insert_rows(self.connection, table, rows, update=table.c.record.name)


def _row(project: int, record: SourceRecord | ToolRecord) -> tuple[Any, ...]:
    """In the order of the columns."""
    subject = record.subject
    kind, source = subject.kind.name, kept_words(subject.source)
    if isinstance(record, SourceRecord):
        return project, subject.digest, kind, source, kept_json(source_as_json(record))
    return (
        project,
        subject.digest,
        subject.anchor.digest,
        kind,
        source,
        kept_words(record.name),
        kept_json(tool_as_json(record)),
    )


def _source(row: Row[Any]) -> SourceRecord:
    return source_from_json(subject_of(row.kind, row.name, None), row.record)


def _tool(row: Row[Any]) -> ToolRecord:
    return tool_from_json(subject_of(row.kind, row.source_name, row.name), row.record)


class Snapshots:
    """Of one project, as one process sees to them."""

    def __init__(self, project: int) -> None:
        self._project = project
        self._next = 1  # nothing is asked of the store before this position

    def take_if_due(self, connection: Connection, position: int) -> None:
        """Write one of the records as they are, which are those at this position."""
        if position < self._next:
            return
        # Others may have written one.
        last = select(func.max(snapshots.c.position)).where(snapshots.c.project == self._project)
        counted = select(func.count()).where(tools.c.project == self._project)
        between = _EVENTS_BETWEEN + connection.execute(counted).scalar_one()
        self._next = (connection.execute(last).scalar() or 0) + between
        if position >= self._next:
            packed = _packed(connection, self._project)
            insert_rows(connection, snapshots, [(self._project, position, packed)])
            self._next = position + between


def records_until(
    connection: Connection, project: int, until: int | None, wanted: Range | None = None
) -> Records:
    """What the log comes to at a position, or at its end.

    With `wanted` only those events count that it asks for, since the snapshot before.
    """
    wanted = wanted or Range()
    after, records = _nearest(connection, project, until)
    events = log.read(connection, project, replace(wanted, after=after, until=until), is_brief=True)
    return records.fold(events)


def _nearest(connection: Connection, project: int, until: int | None) -> tuple[int, Records]:
    """The last one up to a position, and where it was taken; nothing before the first."""
    query = select(snapshots).where(snapshots.c.project == project)
    if until is not None:
        query = query.where(snapshots.c.position <= until)
    row = connection.execute(query.order_by(snapshots.c.position.desc()).limit(1)).first()
    return (0, Records()) if row is None else (row.position, _unpacked(row.records))


def _packed(connection: Connection, project: int) -> bytes:
    """The rows of both tables as JSON; their records are JSON already."""
    lines: list[str] = []
    for table, name, tool in ((sources, "name", None), (tools, "source_name", "name")):
        names = [table.c.kind, table.c[name], *([table.c[tool]] if tool else ())]
        mine = select(type_coerce(table.c.record, Text), *names).where(table.c.project == project)
        lines += [f"[{kept_json(x)},{record}]" for record, *x in connection.execute(mine)]
    return zlib.compress(f"[{','.join(lines)}]".encode(), _FAST)


def _unpacked(data: bytes) -> Records:
    try:
        rows = json.loads(zlib.decompress(data))
    except (ValueError, zlib.error) as cause:
        raise Unreadable("A snapshot is not what was written.") from cause
    records = Records()
    for names, record in rows:
        kind, source, tool = names if len(names) > 2 else (*names, None)
        subject = subject_of(kind, source, tool)
        if tool is None:
            records.sources[subject] = source_from_json(subject, record)
        else:
            records.tools[subject] = tool_from_json(subject, record)
    return records


def rebuild(connection: Connection, project: int) -> None:
    """Have the records of a project as its log gives them. Within a transaction for writing."""
    events = log.read(connection, project, Range(), is_brief=True)
    Projection(connection, project).replace(Records().fold(events))


def is_stale(connection: Connection) -> bool:
    """Whether the records are not what the log comes to, because the file was mended."""
    return connection.execute(select(facts).where(_IS_STALE)).first() is not None


def rebuild_stale(connection: Connection) -> None:
    """Have all records as the log gives them, if they are not. As `rebuild`."""
    if is_stale(connection):
        connection.execute(delete(snapshots))
        for project in connection.execute(select(projects.c.id)).scalars().all():
            rebuild(connection, project)
        connection.execute(delete(facts).where(_IS_STALE))
