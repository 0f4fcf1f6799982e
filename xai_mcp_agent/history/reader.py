"""Reads events and records of a project's history, by name and as of a time."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from ..core.errors import StoreFailed, UnknownServer, UnknownTool
from ..core.names import did_you_mean, nearest
from .event import Event, Project, Subject
from .events_table import LARGEST_POSITION, Range, begin_of, last_position, position_at
from .log import EventLog, LogRow
from .place import Place
from .records import Fold, Records, ToolRecord, last_seen
from .store import Store

_MOST_NAMES = 10  # names in an error about an unknown one


@dataclass(frozen=True, slots=True)
class When:
    """Point of the history: a time, a position, or now if it has neither."""

    time: datetime | None = None
    position: int | None = None


NOW, ALL = When(), Range()


class HistoryReader:
    """Store and log of one project, with the queries of events and records."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.log = EventLog(store.project, store.project_id)

    @property
    def place(self) -> Place:
        """Return the place of its store."""
        return self.store.place

    @property
    def project(self) -> Project:
        """Return its project."""
        return self.store.project

    @property
    def project_id(self) -> int:
        """Return the number of the project in the store."""
        return self.store.project_id

    def reading(self) -> AbstractContextManager[Connection]:
        """Run a transaction that sees one state of the store throughout."""
        return self.store.reading()

    @contextmanager
    def writing(self, *, everything: bool = False) -> Generator[Connection]:
        """Run a transaction that excludes other writers: all of it is stored, or nothing."""
        try:
            with self.store.writing(everything=everything) as connection:
                yield connection
        except BaseException:
            self.log.forget()
            raise

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def rows(
        self, event_range: Range = ALL, source: str | None = None, tool: str | None = None
    ) -> list[LogRow]:
        """Return the newest rows of a range, oldest first: of one source, one tool, or all.

        A tool without a source means the tools of this name of every source.

        Raises:
            UnknownServer, UnknownTool: there never was one.
        """
        with self.reading() as connection:
            return self._rows(connection, event_range, source, tool)

    def events(
        self, event_range: Range = ALL, source: str | None = None, tool: str | None = None
    ) -> list[Event]:
        """Like `rows`, as single events, including implied ones."""
        with self.reading() as connection:
            rows = self._rows(connection, event_range, source, tool)
            return self.log.complete(connection, rows)

    def records(self, moment: When = NOW) -> Records:
        """Return records of every source and tool as of a time."""
        with self.reading() as connection:
            return self._fold_at(connection, moment).records()

    def tool_record(self, source: str, tool: str) -> ToolRecord:
        """Return the record of one tool, with the `last_seen` of its source unless it is gone.

        Raises:
            UnknownServer, UnknownTool: there never was one.
        """
        with self.reading() as connection:
            fold = self.log.catch_up(connection)
            subject, *_ = subjects_of(fold, source, tool)
            record = fold.require(subject)
            return replace(record, last_seen=last_seen(record, fold.sources.get(subject.anchor)))

    def records_of_source(self, name: str) -> list[ToolRecord]:
        """Return records of all tools that the sources of this name ever had."""
        with self.reading() as connection:
            fold = self.log.catch_up(connection)
            subjects = [x.subject for x in fold.plain_tools() if x.subject.source == name]
            return [fold.require(x) for x in subjects]

    def last_listed(self, source: str) -> tuple[int, datetime | None]:
        """Return the newest position, and the time of the last listing of a source."""
        with self.reading() as connection:
            sources = self.log.catch_up(connection).sources.values()
            position = last_position(connection, self.project_id)
            return position, next((x.last_sync for x in sources if x.name == source), None)

    def newest_position(self) -> int:
        """Return the position of the newest event; 0 before the first."""
        with self.reading() as connection:
            return last_position(connection, self.project_id)

    def position_of(self, moment: When) -> int | None:
        """Return the position of the newest event at a time; None for now.

        Positions have the order of writing. Times may have another order: a store was away for a
        while, or the clocks of two machines differ.
        """
        with self.reading() as connection:
            return self._position(connection, moment)

    def _rows(
        self, connection: Connection, event_range: Range, source: str | None, tool: str | None
    ) -> list[LogRow]:
        if source is None and tool is None:
            return self.log.rows(connection, event_range)
        rows: list[LogRow] = []
        for subject in subjects_of(self.log.catch_up(connection), source, tool):
            rows += self.log.rows(connection, replace(event_range, about=subject))
        rows.sort(key=lambda x: x.event.position)
        return rows[-event_range.limit :] if event_range.limit else rows

    def _fold_at(
        self, connection: Connection, moment: When, event_range: Range | None = None
    ) -> Fold:
        return self.log.fold_at(connection, self._position(connection, moment), event_range)

    def _position(self, connection: Connection, moment: When) -> int | None:
        """Return the position of a point.

        Raises:
            StoreFailed: the events of that time were pruned.
        """
        position = moment.position and min(moment.position, LARGEST_POSITION)
        if moment.time is not None:
            position = position_at(connection, self.project_id, moment.time)
        begin = 0 if position is None else begin_of(connection, self.project_id)
        if position is not None and position < begin:
            raise StoreFailed(
                self.place.label,
                f"it begins after event {begin}: earlier events are no longer kept.",
                "Ask for a later time; `history` in the settings says how long it is kept.",
            )
        return position


def subjects_of(fold: Fold, source: str | None, tool: str | None) -> list[Subject]:
    """Return the sources of this name, or the tools; without a source, those of every source.

    Raises:
        UnknownServer, UnknownTool: there never was one.
    """
    tools = [x.subject for x in fold.plain_tools()]
    anchors = {*fold.sources, *(x.anchor for x in tools)}
    sources = {x for x in anchors if source in (None, x.source_name)}
    if source is not None and not sources:
        names = sorted({x.source_name for x in anchors})
        text = f"The history has no server {source!r}. {hint_of(source, names)}"
        raise UnknownServer(text, source, nearest(source, names))
    if tool is None:
        return sorted(sources, key=lambda x: x.context_id)
    of_them = [x for x in tools if x.anchor in sources]
    matches = [x for x in of_them if x.tool == tool]
    matches.sort(key=lambda x: not x.is_tool)  # a prompt may have the name of a tool
    if not matches:
        names = sorted({x.tool or "" for x in of_them})
        of = f" of {source!r}" if source else ""
        raise UnknownTool(f"The history has no tool {tool!r}{of}. {hint_of(tool, names)}")
    return matches


def hint_of(name: str, names: list[str]) -> str:
    """Return the nearest name, or the first names."""
    listed = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
    return did_you_mean(name, names) or (f"It knows: {listed}." if names else "It is empty.")
