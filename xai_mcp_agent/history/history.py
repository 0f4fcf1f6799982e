"""A project's history: graph, versions and changes of tools, statistics.

Each query raises `StoreFailed` if the store cannot be used.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from ..core.errors import UnknownAgent
from ..core.json import JsonObject
from ..core.tools import META, ToolKey
from .diff import differences
from .event import Change, Event, Subject
from .events_table import Range, begin_of, definitions_of, first_since, is_failure
from .graph import Graph, graph_of
from .log import INVENTORY
from .place import Place
from .reader import NOW, HistoryReader, When, hint_of, subjects_of
from .records import Fold, Records, is_offered
from .store import open_store
from .tables import events
from .tool_changes import Defined, ToolChanged, Version, tool_changes
from .usage import NO_USAGE, Stats, stats_of

# Changes after which a definition may differ.
_DEFINING: tuple[Change, ...] = ("seeded", "discovered", "changed")
_OF_TOOLS: tuple[Change, ...] = (*_DEFINING, "returned", "unavailable")


_RECENT_CALLS = Range(changes=("called",), limit=5_000)  # what people do changes


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


class History(HistoryReader):
    """History of one project, in an open store. Used by one thread."""

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
            requested = subjects_of(self.log.catch_up(connection), source, tool)
            graph = self._graph(connection, moment)
            offered = _offered_tools(self._fold_at(connection, moment).records())
            offered = {x: digest for x, digest in offered.items() if x.is_tool}
            bodies = definitions_of(connection, set(offered.values()))
        tools = {x: (digest, bodies[digest]) for x, digest in offered.items() if digest in bodies}
        return ToolGraph(graph, requested, tools)

    def versions(self, source: str, tool: str) -> list[Version]:
        """Return all definitions that a tool had, oldest first.

        Raises:
            UnknownServer, UnknownTool: there never was one.
        """
        with self.reading() as connection:
            subject, *_ = subjects_of(self.log.catch_up(connection), source, tool)
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
            subjects = subjects_of(self.log.catch_up(connection), source, tool)
        return [x for subject in subjects for x in self.tools_changed(before, after, subject)]

    def tools_changed(
        self, before: When, after: When, subject: Subject | None = None
    ) -> list[ToolChanged]:
        """Return the differences between two points: of one tool, of a source, or of everything.

        A tool exists as long as its source offers it, connected or not. A renamed tool has either
        name.
        """
        source = subject and subject.anchor
        with self.reading() as connection:
            then, now = (self._inventory_at(connection, x, source) for x in (before, after))
            old, new = _offered_tools(then), _offered_tools(now)
            # The later state goes first: it finds more renamed tools.
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
            for subject in subjects_of(self.log.catch_up(connection), source, None):
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
        """Return the last change of each source with tools, the newest last."""
        with self.reading() as connection:
            subjects = subjects_of(self.log.catch_up(connection), None, None)
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
            raise UnknownAgent(f"The history has no agent {agent!r}. {hint_of(agent, agents)}")

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
