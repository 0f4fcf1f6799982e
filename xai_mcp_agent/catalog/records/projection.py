"""The records as a store keeps them: found by source, written together with the events."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Row, Select, Table, Text, bindparam, or_, select, type_coerce

from ...core.tools import JsonObject
from ...history import log
from ...history.bulk import insert_rows
from ...history.event import Event
from ...history.log import subject_of
from ...history.subject import Subject
from ...history.tables import kept_json, kept_words, sources, tools
from ..keeping.changes import Known
from .fold import Records
from .record import SourceRecord, ToolRecord
from .stored import (
    MARKS_OF_DECISIONS,
    source_as_json,
    source_from_json,
    tool_as_json,
    tool_from_json,
)


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
        rows = self._rows(tools, tools.c.anchor == subject.digest)
        for record in map(_tool, rows):
            if record.subject not in self._read:
                self._read.add(record.subject)
                self._records.tools[record.subject] = record
        mine = (x for x in self._folded().tools.values() if x.subject.anchor == subject)
        return Known(self.source(subject), {x.name: x for x in mine})

    def sources_of(self, run: str) -> list[Subject]:
        """The sources that a run has connected."""
        return [x.subject for x in map(_source, self._rows(sources)) if run in x.runs]

    def definitions(self, digests: Iterable[str]) -> dict[str, JsonObject]:
        """Definitions by their digests, also those that are not written yet."""
        wanted = set(digests)
        new = {x: json.loads(self._bodies[x]) for x in wanted & self._bodies.keys()}
        return new | log.definitions_of(self.connection, wanted - new.keys())

    def tools_of(self, source: str) -> list[ToolRecord]:
        """All tools a source has or had, by the name of the source."""
        return [_tool(row) for row in self._rows(tools, tools.c.source_name == source)]

    def decided(self, sources: Collection[str]) -> list[ToolRecord]:
        """The tools of some sources, by name, about which something was decided."""
        record = type_coerce(tools.c.record, Text)  # most are not even read
        is_decided = or_(*(record.contains(mark, autoescape=True) for mark in MARKS_OF_DECISIONS))
        found = map(_tool, self._rows(tools, tools.c.source_name.in_(sources), is_decided))
        return [x for x in found if x.accepted or not x.is_enabled]

    def everything(self) -> Records:
        """All sources and tools there ever were, as they are kept."""
        records = Records()
        records.sources = {x.subject: x for x in map(_source, self._rows(sources))}
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
