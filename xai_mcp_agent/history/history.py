"""A project's history: its events, records, graph, versions and changes of tools, statistics.

Each query raises `StoreFailed` if the store cannot be used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection, select

from ..core.errors import StoreFailed, UnknownAgent, UnknownServer, UnknownTool
from ..core.json import JsonObject
from ..core.names import did_you_mean, nearest
from ..core.tools import META, ToolKey
from .diff import differences
from .event import At, Change, Event, Range, Subject
from .events_table import (
    LARGEST_POSITION,
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
from .records import Fold, Records, ToolRecord
from .store import Store, open_store
from .tables import events
from .tool_changes import ToolChanged, Version, tool_changes
from .usage import NO_USAGE, Stats, stats_of

# Changes after which a definition may differ.
_DEFINING: tuple[Change, ...] = ("seeded", "discovered", "changed")
_OF_TOOLS: tuple[Change, ...] = (*_DEFINING, "returned", "unavailable")
_ALL = Range()
_RECENT_CALLS = Range(changes=("called",), limit=5_000)  # what people do changes
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
        self.place, self.project, self.project_id = store.place, store.project, store.project_id
        self.reading, self.close = store.reading, store.close
        self.log = EventLog(store.project, store.project_id)

    @contextmanager
    def writing(self, *, everything: bool = False) -> Generator[Connection]:
        """Run a transaction that excludes other writers: all of it is stored, or nothing."""
        try:
            with self.store.writing(everything=everything) as connection:
                yield connection
        except BaseException:
            self.log.forget()
            raise

    def rows(
        self, event_range: Range = _ALL, source: str | None = None, tool: str | None = None
    ) -> list[LogRow]:
        """Return the newest rows of a range, oldest first: of one source, one tool, or all.

        A tool without a source means the tools of this name of every source.

        Raises:
            UnknownServer, UnknownTool: there never was one.
        """
        with self.reading() as connection:
            return self._rows(connection, event_range, source, tool)

    def events(
        self, event_range: Range = _ALL, source: str | None = None, tool: str | None = None
    ) -> list[Event]:
        """Like `rows`, as single events, including implied ones."""
        with self.reading() as connection:
            rows = self._rows(connection, event_range, source, tool)
            return self.log.complete(connection, rows)

    def records(self, moment: At = None) -> Records:
        """Return records of every source and tool as of a time."""
        with self.reading() as connection:
            return self._fold_at(connection, moment).records()

    def tool_record(self, source: str, tool: str) -> ToolRecord:
        """Return the record of one tool.

        Raises:
            UnknownServer, UnknownTool: there never was one.
        """
        with self.reading() as connection:
            fold = self.log.catch_up(connection)
            subject, *_ = _subjects_of(fold, source, tool)
            return fold.tools_of(subject.anchor)[subject]

    def records_of_source(self, name: str) -> dict[Subject, dict[Subject, ToolRecord]]:
        """Return records of all tools that the sources of this name ever had, by source."""
        with self.reading() as connection:
            fold = self.log.catch_up(connection)
            anchors = {x.subject.anchor for x in fold.plain_tools() if x.subject.source == name}
            return {x: fold.tools_of(x) for x in anchors}

    def last_listed(self, source: str) -> tuple[int, datetime | None]:
        """Return the newest position, and the time of the last listing of a source."""
        with self.reading() as connection:
            sources = self.log.catch_up(connection).sources.values()
            position = last_position(connection, self.project_id)
            return position, next((x.last_sync for x in sources if x.name == source), None)

    def position_of(self, moment: At = None) -> int:
        """Return the position of the newest event at a time, or now; 0 before the first.

        Positions have the order of writing. Times may have another order: a store was away for a
        while, or the clocks of two machines differ.
        """
        with self.reading() as connection:
            position = self._position(connection, moment)
            return last_position(connection, self.project_id) if position is None else position

    def graph(self, moment: At = None) -> Graph:
        """Return the event graph as of then."""
        with self.reading() as connection:
            return self._graph(connection, moment)

    def tool_graph(self, moment: At, source: str | None, tool: str | None) -> ToolGraph:
        """Return graph and definitions for the flows around a source, or one tool, as of a time.

        Raises:
            UnknownServer, UnknownTool: there never was one.
        """
        with self.reading() as connection:
            requested = _subjects_of(self.log.catch_up(connection), source, tool)
            graph = self._graph(connection, moment)
            offered = _offered(self._fold_at(connection, moment).records().tools)
            bodies = definitions_of(connection, set(offered.values()))
        tools = {x: (digest, bodies[digest]) for x, digest in offered.items() if digest in bodies}
        return ToolGraph(graph, requested, tools)

    def versions(self, source: str, tool: str) -> list[Version]:
        """Return all definitions that a tool had, oldest first.

        Raises:
            UnknownServer, UnknownTool: there never was one.
        """
        with self.reading() as connection:
            subject, *_ = _subjects_of(self.log.catch_up(connection), source, tool)
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
        self, source: str | None, tool: str | None, before: At, after: At = None
    ) -> list[ToolChanged]:
        """Return the differences between two points: of all, of a source, or of a tool.

        A tool exists as long as its source offers it, connected or not. A renamed tool has either
        name.

        Raises:
            UnknownServer, UnknownTool: there never was one.
        """
        with self.reading() as connection:
            if source is None and tool is None:
                return self._changes(connection, before, after)
            subjects = _subjects_of(self.log.catch_up(connection), source, tool)
            changes = [self._changes(connection, before, after, x) for x in subjects]
        return [x for of_subject in changes for x in of_subject]

    def last_change(self, source: str, until: At = None) -> tuple[int, datetime] | None:
        """Return the position before the last change of a source's tools until then, and its time.

        It is None if nothing was listed by then.

        Raises:
            UnknownServer: there never was one.
        """
        candidates: list[tuple[int, datetime]] = []
        with self.reading() as connection:
            last = self._position(connection, until)
            for subject in _subjects_of(self.log.catch_up(connection), source, None):
                changed = self.log.newest_of(connection, subject, _OF_TOOLS, last)
                if changed is not None:
                    # One listing has one time and one run.
                    together = Range(about=subject, since=changed.time, until=changed.position)
                    rows = (x.event for x in self.log.rows(connection, together))
                    same = [x for x in rows if (x.time, x.run) == (changed.time, changed.run)]
                    first = min(x.position for x in same if x.change in INVENTORY)
                    candidates.append((first - 1, changed.time))
        return max(candidates, default=None)

    def last_changes(self, until: At = None) -> list[LastChange]:
        """Return the last change of each source with tools, the newest last."""
        with self.reading() as connection:
            subjects = _subjects_of(self.log.catch_up(connection), None, None)
        dated: list[tuple[int, LastChange]] = []
        for source in {x.source_name for x in subjects}:
            if (changed := self.last_change(source, until)) is not None:
                position, time = changed
                changes = self.changes(source, None, position, until)
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
        """Check that an agent of this name ever called a tool.

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
            raise UnknownAgent(f"The history has no agent {agent!r}. {_hint_of(agent, agents)}")

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

    def _graph(self, connection: Connection, moment: At) -> Graph:
        until = self._position(connection, moment)
        records = self.log.fold_at(connection, until).records()
        return graph_of(self.project, records, self.log.links(connection, until))

    def _changes(
        self, connection: Connection, before: At, after: At, subject: Subject | None = None
    ) -> list[ToolChanged]:
        then, now = (self._items_at(connection, x, subject) for x in (before, after))
        old, new = _offered(then), _offered(now)
        # The later state goes first: it finds more renamed tools.
        last = {x: now[x].definition for x in old.keys() - new.keys() if x in now}
        different = {x for x in old.keys() | new.keys() if old.get(x) != new.get(x)}
        digests = {side[x] for side in (old, new, last) for x in different if x in side}
        bodies = definitions_of(connection, digests)
        sides = (
            {x: bodies.get(side[x]) for x in different & side.keys()} for side in (old, new, last)
        )
        changes = tool_changes(*sides)
        return [x for x in changes if subject in (None, x.tool.anchor, x.tool, x.was)]

    def _items_at(
        self, connection: Connection, moment: At, subject: Subject | None
    ) -> dict[Subject, ToolRecord]:
        """Return the tools that the source of a subject had by then, or those of every source."""
        items = self._fold_at(connection, moment).records().items
        if subject is None:
            return items
        return {x: record for x, record in items.items() if x.anchor == subject.anchor}

    def _rows(
        self, connection: Connection, event_range: Range, source: str | None, tool: str | None
    ) -> list[LogRow]:
        if source is None and tool is None:
            return self.log.rows(connection, event_range)
        rows: list[LogRow] = []
        for subject in _subjects_of(self.log.catch_up(connection), source, tool):
            rows += self.log.rows(connection, replace(event_range, about=subject))
        rows.sort(key=lambda x: x.event.position)
        return rows[-event_range.limit :] if event_range.limit else rows

    def _fold_at(self, connection: Connection, moment: At) -> Fold:
        return self.log.fold_at(connection, self._position(connection, moment))

    def _position(self, connection: Connection, moment: At) -> int | None:
        """Return the position of a point; None for now.

        Raises:
            StoreFailed: the events of that time were pruned.
        """
        if moment is None:
            return None
        if isinstance(moment, datetime):
            position = position_at(connection, self.project_id, moment)
        else:
            position = min(moment, LARGEST_POSITION)
        begin = begin_of(connection, self.project_id)
        if position < begin:
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


def _offered(items: dict[Subject, ToolRecord]) -> dict[Subject, str]:
    """Return the existing tools, and the digests of their definitions."""
    return {x: record.definition for x, record in items.items() if record.is_offered}


def _subjects_of(fold: Fold, source: str | None, tool: str | None) -> list[Subject]:
    """Return the sources of this name, or the tools; without a source, those of every source.

    Raises:
        UnknownServer, UnknownTool: there never was one.
    """
    tools = [x.subject for x in fold.plain_tools()]
    anchors = {*fold.sources, *(x.anchor for x in tools)}
    sources = {x for x in anchors if source in (None, x.source_name)}
    if source is not None and not sources:
        names = sorted({x.source_name for x in anchors})
        text = f"The history has no server {source!r}. {_hint_of(source, names)}"
        raise UnknownServer(text, source, nearest(source, names))
    if tool is None:
        return sorted(sources, key=lambda x: x.context_id)
    of_them = [x for x in tools if x.anchor in sources]
    matches = [x for x in of_them if x.tool == tool]
    matches.sort(key=lambda x: not x.is_tool)  # a prompt may have the name of a tool
    if not matches:
        names = sorted({x.tool or "" for x in of_them})
        of = f" of {source!r}" if source else ""
        raise UnknownTool(f"The history has no tool {tool!r}{of}. {_hint_of(tool, names)}")
    return matches


def _hint_of(name: str, names: list[str]) -> str:
    """Return the nearest name, or the first names."""
    listed = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
    return did_you_mean(name, names) or (f"It knows: {listed}." if names else "It is empty.")
