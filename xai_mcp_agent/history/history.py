"""A project's history: all queries, by name and as of a time.

Each query raises `StoreFailed` if the store cannot be used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection, select

from ..core.errors import StoreFailed, UnknownAgent, UnknownServer, UnknownTool
from ..core.json import JsonObject
from ..core.names import did_you_mean, nearest
from ..core.tools import META, ToolKey
from .diff import differences
from .event import Change, Event, Project, Subject
from .events_table import (
    LARGEST_POSITION,
    Range,
    begin_of,
    definitions_of,
    first_since,
    is_failure,
    last_position,
    position_at,
)
from .graph import Graph, graph_of
from .log import INVENTORY, EventLog, LogRow
from .place import Place
from .records import Fold, Records, ToolRecord, is_offered, last_seen
from .store import Store, open_store
from .tables import events
from .tool_changes import Defined, ToolChanged, Version, tool_changes
from .usage import NO_USAGE, Stats, stats_of

# Changes after which a definition may differ.
_DEFINING: tuple[Change, ...] = ("seeded", "discovered", "changed")
_OF_TOOLS: tuple[Change, ...] = (*_DEFINING, "returned", "unavailable")


@dataclass(frozen=True, slots=True)
class When:
    """Point of the history: a time, a position, or now if it has neither."""

    time: datetime | None = None
    position: int | None = None


NOW, ALL = When(), Range()
_RECENT_CALLS = Range(changes=("called",), limit=5_000)  # people's work changes
_MOST_NAMES = 10  # names in an error about an unknown one


@dataclass(frozen=True, slots=True)
class ToolGraph:
    """The whole graph, the requested subjects, and the tools that sources offered then.

    Each tool has the digest of its definition, and the definition.
    """

    graph: Graph
    requested: list[Subject]
    tools: dict[Subject, tuple[str, JsonObject]]


@dataclass(frozen=True, slots=True)
class LastChange:
    """Last change in the tools of a source, by its name, and its time."""

    source: str
    time: datetime
    changes: list[ToolChanged]


class History:
    """History of one project, in an open store. Used by one thread."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.log = EventLog(store.project, store.project_id)

    @property
    def place(self) -> Place:
        """Return where it is stored."""
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

        A tool without a source is that of every source that has one of this name.

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
        """Return the record of one tool. It was seen last when its source was, unless it had gone.

        Raises:
            UnknownServer, UnknownTool: there never was one.
        """
        with self.reading() as connection:
            fold = self.log.catch_up(connection)
            subject, *_ = _subjects_named(fold, source, tool)
            record = fold.require(subject)
            return replace(record, last_seen=last_seen(record, fold.sources.get(subject.anchor)))

    def records_of_source(self, name: str) -> list[ToolRecord]:
        """Return records of all tools that the sources of this name ever had."""
        with self.reading() as connection:
            fold = self.log.catch_up(connection)
            named = [x.subject for x in fold.plain_tools() if x.subject.source == name]
            return [fold.require(x) for x in named]

    def last_listed(self, source: str) -> tuple[int, datetime | None]:
        """Return the newest position, and when a source of this name was listed last."""
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

        Events are in the order they were written. If a store was away for a while, or the clocks of
        two machines differ, their times are in another order.
        """
        with self.reading() as connection:
            return self._position(connection, moment)

    def graph(self, moment: When = NOW) -> Graph:
        """Return the event graph as of then."""
        with self.reading() as connection:
            return self._graph(connection, moment)

    def tool_graph(self, moment: When, source: str | None, tool: str | None) -> ToolGraph:
        """Return graph and definitions for the flows around a source, or one tool, as of a time.

        Raises:
            UnknownServer, UnknownTool: there never was one.
        """
        with self.reading() as connection:
            requested = _subjects_named(self.log.catch_up(connection), source, tool)
            graph = self._graph(connection, moment)
            offered = _offered_tools(self._fold_at(connection, moment).records())
            offered = {x: digest for x, digest in offered.items() if x.is_tool}
            bodies = definitions_of(connection, set(offered.values()))
        tools = {x: (digest, bodies[digest]) for x, digest in offered.items() if digest in bodies}
        return ToolGraph(graph, requested, tools)

    def versions(self, source: str, tool: str) -> list[Version]:
        """Return every definition that a tool had, the first one first.

        Raises:
            UnknownServer, UnknownTool: there never was one.
        """
        with self.reading() as connection:
            subject, *_ = _subjects_named(self.log.catch_up(connection), source, tool)
            rows = self.log.rows(connection, Range(about=subject, changes=_DEFINING))
            defining = [x.event for x in rows if x.event.definition]
            bodies = definitions_of(connection, {x.definition or "" for x in defining})
        versions: list[Version] = []
        for event in defining:
            digest = event.definition or ""
            if not versions or versions[-1].digest != digest:
                now, before = bodies.get(digest), versions[-1].definition if versions else None
                lines = differences(before, now, in_full=True) if versions else ()
                versions.append(Version(digest, event.time, event.position, now, lines))
        return versions

    def changes(
        self, source: str | None, tool: str | None, before: When, after: When = NOW
    ) -> list[ToolChanged]:
        """Return the differences between two points: of all, of a source, or of a tool.

        Raises:
            UnknownServer, UnknownTool: there never was one.
        """
        if source is None and tool is None:
            return self.tools_changed(before, after)
        with self.reading() as connection:
            subjects = _subjects_named(self.log.catch_up(connection), source, tool)
        return [x for subject in subjects for x in self.tools_changed(before, after, subject)]

    def tools_changed(
        self, before: When, after: When, subject: Subject | None = None
    ) -> list[ToolChanged]:
        """Return the differences between two points: of one tool, of a source, or of everything.

        A tool exists as long as its source offers it, also while that is not connected. A renamed
        tool answers to either name.
        """
        source = subject and subject.anchor
        with self.reading() as connection:
            then, now = (self._inventory_at(connection, x, source) for x in (before, after))
            old, new = _offered_tools(then), _offered_tools(now)
            # The later state goes first: it finds a renamed tool more often.
            items_now = now.items
            last = {x: items_now[x].definition for x in old.keys() - new.keys() if x in items_now}
            different = {x for x in old.keys() | new.keys() if old.get(x) != new.get(x)}
            digests = {side[x] for side in (old, new, last) for x in different if x in side}
            bodies = definitions_of(connection, digests)
        sides = (
            {x: Defined(side[x], bodies.get(side[x])) for x in different & side.keys()}
            for side in (old, new, last)
        )
        changes = tool_changes(*sides)
        return [x for x in changes if subject in (None, source, x.tool, x.was)]

    def last_change(self, source: str, until: When = NOW) -> tuple[int, datetime] | None:
        """Return the position before the last change of a source's tools until then, and its time.

        It is None if nothing was listed by then.

        Raises:
            UnknownServer: there never was one.
        """
        candidates: list[tuple[int, datetime]] = []
        with self.reading() as connection:
            last = self._position(connection, until)
            for subject in _subjects_named(self.log.catch_up(connection), source, None):
                changed = self.log.newest_of(connection, subject, _OF_TOOLS, last)
                if changed is not None:
                    # One listing has one time and one run.
                    together = Range(about=subject, since=changed.time, until=changed.position)
                    rows = (x.event for x in self.log.rows(connection, together))
                    same = [x for x in rows if (x.time, x.run) == (changed.time, changed.run)]
                    first = min(x.position for x in same if x.change in INVENTORY)
                    candidates.append((first - 1, changed.time))
        return max(candidates, default=None)

    def last_changes(self, until: When = NOW) -> list[LastChange]:
        """Return the last change of every source with tools by then, the newest last."""
        with self.reading() as connection:
            subjects = _subjects_named(self.log.catch_up(connection), None, None)
        dated: list[tuple[int, LastChange]] = []
        for source in {x.source_name for x in subjects}:
            if (changed := self.last_change(source, until)) is not None:
                position, time = changed
                changes = self.changes(source, None, When(position=position), until)
                dated.append((position, LastChange(source, time, changes)))
        return [x for _, x in sorted(dated, key=lambda x: (x[0], x[1].source))]

    def what_changed(self, event: Event) -> tuple[str, ...]:
        """Return lines about how a changed definition differs from the one before."""
        tool = event.subject
        with self.reading() as connection:
            until = event.position - 1
            before = Range(about=tool, changes=_DEFINING, until=until, limit=1)
            previous = [
                x.event.definition for x in self.log.rows(connection, before) if x.is_in_range
            ]
            if not previous and begin_of(connection, self.project_id) <= until:  # it was pruned
                record = self.log.fold_at(connection, until).plain_tool(tool)
                previous = [record.definition] if record else []
            if not previous or not previous[0] or not event.definition:
                return ()
            bodies = definitions_of(connection, {previous[0], event.definition})
        return differences(bodies.get(previous[0]), bodies.get(event.definition))

    def stats(self, since: datetime | None = None) -> Stats:
        """Return statistics of calls since then, or of all; percentiles are of the recent ones."""
        with self.reading() as connection:
            now, then = self.log.catch_up(connection), Fold()
            if since is not None:
                first = first_since(connection, self.project_id, since)
                then = self.log.fold_at(connection, first - 1)
        before = {x.subject: x.usage for x in then.plain_tools()}
        usages = ((x.subject, x.usage) for x in now.plain_tools())
        return stats_of((x, usage.since(before.get(x, NO_USAGE))) for x, usage in usages)

    def check_agent(self, agent: str | None) -> None:
        """Refuse the name of an agent that never called a tool.

        Raises:
            UnknownAgent: it never did.
        """
        if agent is None:
            return
        of_project = events.c.project == self.project_id, events.c.agent.is_not(None)
        query = select(events.c.agent).where(*of_project).distinct()
        with self.reading() as connection:
            agents = sorted(connection.execute(query).scalars())
        if agent not in agents:
            raise UnknownAgent(f"The history has no agent {agent!r}. {_hint(agent, agents)}")

    def followers(self, tool: ToolKey) -> Counter[ToolKey]:
        """Return the tools called next after this one in a run, with counts; not failed calls."""
        counts = Counter[ToolKey]()
        last = dict[str, ToolKey]()
        for event in self.events(_RECENT_CALLS):
            if is_failure(event) or not event.subject.is_tool or event.subject.kind == META:
                continue
            payload, key = event.payload, event.subject.key
            # Each drawn step has a run id of its own, so its run is the process.
            run = str(payload.get("run_id", "")) if payload.get("agent") else event.run
            counts[key] += last.get(run) == tool
            last[run] = key
        return +counts

    def _rows(
        self, connection: Connection, event_range: Range, source: str | None, tool: str | None
    ) -> list[LogRow]:
        if source is None and tool is None:
            return self.log.rows(connection, event_range)
        rows: list[LogRow] = []
        for subject in _subjects_named(self.log.catch_up(connection), source, tool):
            rows += self.log.rows(connection, replace(event_range, about=subject))
        rows.sort(key=lambda x: x.event.position)
        return rows[-event_range.limit :] if event_range.limit else rows

    def _fold_at(
        self, connection: Connection, moment: When, event_range: Range | None = None
    ) -> Fold:
        return self.log.fold_at(connection, self._position(connection, moment), event_range)

    def _graph(self, connection: Connection, moment: When) -> Graph:
        until = self._position(connection, moment)
        records = self.log.fold_at(connection, until).records()
        return graph_of(self.project, records, self.log.links(connection, until))

    def _inventory_at(
        self, connection: Connection, moment: When, source: Subject | None
    ) -> Records:
        """Return records of a source and its tools as of then, without calls; or all records."""
        if source is None:
            return self._fold_at(connection, moment).records()
        fold = self._fold_at(connection, moment, Range(about=source, changes=INVENTORY))
        records, tools = fold.sources.get(source), fold.source_state(source).tools.values()
        return Records({source: records} if records else {}, {x.subject: x for x in tools})

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


def open_history(place: Place, *, is_to_read: bool = False) -> History:
    """Open the history of a place, as `open_store` does."""
    store = open_store(place, is_to_read=is_to_read)
    try:
        return History(store)
    except BaseException:
        store.close()
        raise


def _offered_tools(records: Records) -> dict[Subject, str]:
    """Return the existing tools, and the digests of their definitions."""
    return {
        tool: record.definition
        for tool, record in records.items.items()
        if is_offered(record, records.sources.get(tool.anchor))
    }


def _subjects_named(fold: Fold, source: str | None, tool: str | None) -> list[Subject]:
    """Return the sources of this name, or the tools; without a source, those of every source.

    Raises:
        UnknownServer, UnknownTool: there never was one.
    """
    tools = [x.subject for x in fold.plain_tools()]
    anchors = {*fold.sources, *(x.anchor for x in tools)}
    sources = {x for x in anchors if source in (None, x.source_name)}
    if source is not None and not sources:
        names = sorted({x.source_name for x in anchors})
        text = f"The history has no server {source!r}. {_hint(source, names)}"
        raise UnknownServer(text, source, nearest(source, names))
    if tool is None:
        return sorted(sources, key=lambda x: x.context_id)
    of_them = [x for x in tools if x.anchor in sources]
    matches = [x for x in of_them if x.tool == tool]
    matches.sort(key=lambda x: not x.is_tool)  # a prompt may have the name of a tool
    if not matches:
        names = sorted({x.tool or "" for x in of_them})
        of = f" of {source!r}" if source else ""
        raise UnknownTool(f"The history has no tool {tool!r}{of}. {_hint(tool, names)}")
    return matches


def _hint(name: str, names: list[str]) -> str:
    listed = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
    return did_you_mean(name, names) or (f"It knows: {listed}." if names else "It is empty.")
