"""Queries on a store (events, records, graph, versions, differences), by name and as of a time.

Raised by each of them: `StoreFailed`, where the store cannot be used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, select

from ..core.errors import StoreFailed, UnknownAgent, UnknownServer, UnknownTool
from ..core.json import JsonObject
from ..core.names import did_you_mean, nearest
from . import log
from .diff.changes import Defined, ToolChanged, Version, compared, differences
from .event import Change, Event, Subject
from .graph import Graph, graph_of
from .kept_events import subject_of
from .log import Entry, Range, Telling
from .projection import Projection, begin_of, is_stale, records_until
from .records import Records, SourceRecord, ToolRecord, is_offered, last_seen
from .store import Store
from .tables import callers, subjects

# By which a definition may be another one than before.
_DEFINING: tuple[Change, ...] = ("seeded", "discovered", "changed")
_KNOWN_BY: tuple[Change, ...] = (*_DEFINING, "confirmed", "returned")
# What decides which tools there are; calls, of which there are many more, do not.
_TELLING: tuple[Change, ...] = (
    *_DEFINING, "confirmed", "returned", "unavailable",
    "connected", "reconnected", "refreshed", "left", "disconnected",
)  # fmt: skip

_OF_TOOLS: tuple[Change, ...] = ("seeded", "discovered", "changed", "returned", "unavailable")
_OF_SOURCES: tuple[Change, ...] = ("connected", "reconnected", "refreshed", "disconnected")
_NAMES = (subjects.c.kind, subjects.c.source_name, subjects.c.tool)
_MOST_NAMES = 10  # of those that are told to somebody who wrote another one


@dataclass(frozen=True, slots=True)
class When:
    """A point of the history: a time, a position, or now when it has neither."""

    time: datetime | None = None
    position: int | None = None


def events_in(store: Store, wanted: Range) -> list[Event]:
    """The events of a range."""
    with store.reading() as connection:
        return list(log.read(connection, store.project_id, wanted))


def records_at(store: Store, moment: When) -> Records:
    """Every source and tool there was until then, as was known then."""
    with store.reading() as connection:
        until = _position(connection, store, moment)
        return _records(connection, store.project_id, until)


def record_of(store: Store, tool: Subject) -> tuple[ToolRecord, SourceRecord | None]:
    """What is known now of one tool that was there, and of its source."""
    with store.reading() as connection:
        if is_stale(connection):
            records = records_until(connection, store.project_id, None)
            return records.tools[tool], records.sources.get(tool.anchor)
        projection = Projection(connection, store.project_id)
        record = projection.tool(tool)
        assert record is not None
        return record, projection.source(tool.anchor)


def last_listed(store: Store, source: str) -> tuple[int, datetime | None]:
    """The newest position, and when a source of this name was listed last."""
    with store.reading() as connection:
        position = log.last_position(connection, store.project_id)
        if is_stale(connection):
            known = [*records_until(connection, store.project_id, None).sources.values()]
        else:
            known = Projection(connection, store.project_id).sources()
    return position, next((x.last_sync for x in known if x.name == source), None)


def graph_at(store: Store, moment: When) -> Graph:
    """The event graph, as it was then."""
    with store.reading() as connection:
        until = _position(connection, store, moment)
        records = _records(connection, store.project_id, until)
        return graph_of(store.project, records, log.links(connection, store.project_id, until))


@dataclass(frozen=True, slots=True)
class ToolsTold:
    """The whole graph, what was asked for in it, and what sources said of the tools they offer.

    Of each tool that was offered then: the digest of its definition, and that.
    """

    graph: Graph
    chosen: list[Subject]
    tools: dict[Subject, tuple[str, JsonObject]]


def tools_told(store: Store, moment: When, source: str | None, tool: str | None) -> ToolsTold:
    """What it takes to see what flows around a source, or one tool, as it was then.

    Raises:
        UnknownServer, UnknownTool: there never was one.
    """
    chosen = subjects_named(store, source, tool)
    with store.reading() as connection:
        until = _position(connection, store, moment)
        records = _records(connection, store.project_id, until)
        links = log.links(connection, store.project_id, until)
        found = graph_of(store.project, records, links)
        offered = _offered(records)
        known = log.definitions_of(connection, set(offered.values()))
    tools = {x: (digest, known[digest]) for x, digest in offered.items() if digest in known}
    return ToolsTold(found, chosen, tools)


def versions_of(store: Store, tool: Subject) -> list[Version]:
    """Every definition that a tool had, the first one first."""
    with store.reading() as connection:
        wanted = Range(subject=tool, changes=_DEFINING)
        events = [x for x in log.read(connection, store.project_id, wanted) if x.definition]
        known = log.definitions_of(connection, (x.definition or "" for x in events))
    found: list[Version] = []
    for event in events:
        digest = event.definition or ""
        if not found or found[-1].digest != digest:
            now, before = known.get(digest), known.get(found[-1].digest) if found else None
            lines = differences(before, now, in_full=True) if found else ()
            version = Version(digest, event.time, event.position, now, lines)
            found.append(version)
    return found


def tools_changed(
    store: Store, before: When, after: When, subject: Subject | None = None
) -> list[ToolChanged]:
    """What is different between two points: of one tool, of a source, or of all there is.

    A tool is there as long as its source offers it, also while that is not connected. One that
    was renamed is asked for by either name.
    """
    source = subject and subject.anchor
    then, now = _told(store, before, source), _told(store, after, source)
    old, new = _offered(then), _offered(now)
    # By what it was at last, a tool that was renamed later is found more often.
    last = {x: now.tools[x].definition for x in old.keys() - new.keys() if x in now.tools}
    different = {x for x in old.keys() | new.keys() if old.get(x) != new.get(x)}
    with store.reading() as connection:
        digests = {side[x] for side in (old, new, last) for x in different if x in side}
        known = log.definitions_of(connection, digests)
    sides = (
        {x: Defined(side[x], known.get(side[x])) for x in different & side.keys()}
        for side in (old, new, last)
    )
    found = compared(*sides)
    return [x for x in found if subject in (None, source, x.tool, x.was)]


def _told(store: Store, moment: When, source: Subject | None) -> Records:
    """What was known then of a source and its tools, but not of calls; or all that was known."""
    if source is None:
        return records_at(store, moment)
    with store.reading() as connection:
        until = _position(connection, store, moment)
        wanted = Range(anchor=source, changes=_TELLING)
        return records_until(connection, store.project_id, until, wanted)


def _offered(records: Records) -> dict[Subject, str]:
    """The tools that were there, and the digests of their definitions."""
    return {
        tool: record.definition
        for tool, record in records.tools.items()
        if is_offered(record, records.sources.get(tool.anchor))
    }


def position_of(store: Store, moment: When) -> int | None:
    """The position of the newest event of a time; None for now.

    Events stand in the order in which they were written. Where a store was away for a while, or the
    clocks of two machines differ, that of their times is another.
    """
    with store.reading() as connection:
        return _position(connection, store, moment)


def _records(connection: Connection, project: int, until: int | None) -> Records:
    if until is None and not is_stale(connection):
        return Projection(connection, project).everything()
    return records_until(connection, project, until)


def _position(connection: Connection, store: Store, moment: When) -> int | None:
    """The position of a point.

    Raises:
        StoreFailed: what was known then was removed, because it was too old.
    """
    project = store.project_id
    position = moment.position and min(moment.position, log.LARGEST_POSITION)
    if moment.time is not None:
        position = log.position_at(connection, project, moment.time)
    begin = 0 if position is None else begin_of(connection, project)
    if position is not None and position < begin:
        raise StoreFailed(
            store.place.shown,
            f"it begins behind event {begin}: what was before is not kept any more.",
            "Ask for a later time; `history` in the settings says how long it is kept.",
        )
    return position


def events_about(store: Store, source: str | None, tool: str | None, wanted: Range) -> list[Event]:
    """The newest events of a range, oldest first: of one source, one tool, or all.

    A tool without a source is that of every source that has one of this name.

    Raises:
        UnknownServer, UnknownTool: there never was one.
    """
    with store.reading() as connection:
        newest = replace(wanted, newest_first=True)
        if source is None and tool is None:
            return list(log.read(connection, store.project_id, newest))[::-1]
        found = list[Event]()
        for subject in _subjects(connection, store.project_id, source, tool):
            only = {"anchor": subject} if subject.tool is None else {"subject": subject}
            found += log.read(connection, store.project_id, replace(newest, **only))
    found.sort(key=lambda x: x.position)
    return found[-wanted.limit :] if wanted.limit else found


def tellings_about(
    store: Store, source: str | None, tool: str | None, wanted: Range
) -> list[Telling]:
    """As `events_about`, by rows: what each tells of many tools is not made into events."""
    with store.reading() as connection:
        newest = replace(wanted, newest_first=True)
        if source is None and tool is None:
            return list(log.tellings(connection, store.project_id, newest))[::-1]
        found = list[Telling]()
        for subject in _subjects(connection, store.project_id, source, tool):
            only = {"anchor": subject} if subject.tool is None else {"subject": subject}
            found += log.tellings(connection, store.project_id, replace(newest, **only))
    found.sort(key=lambda x: x.entry.event.position)
    return found[-wanted.limit :] if wanted.limit else found


def newest_position(store: Store) -> int:
    """That of the newest event; 0 before the first."""
    with store.reading() as connection:
        return log.last_position(connection, store.project_id)


def what_changed(store: Store, event: Event) -> tuple[str, ...]:
    """What a changed definition has that the one before it had not, in lines; none if unknown."""
    with store.reading() as connection:
        before = Range(
            subject=event.subject, changes=_KNOWN_BY, until=event.position - 1, limit=20,
            newest_first=True,
        )  # fmt: skip
        found = (x.definition for x in log.read(connection, store.project_id, before))
        last = next((x for x in found if x and x != event.definition), None)
        wanted = {x for x in (last, event.definition) if x}
        known = log.definitions_of(connection, wanted)
    if last is None:
        return ()
    return differences(known.get(last), known.get(event.definition or ""))


def check_agent(store: Store, agent: str | None) -> None:
    """Refuse the name of an agent that never called a tool.

    Raises:
        UnknownAgent: it is one.
    """
    if agent is None or agent in (known := _agents_known(store)):
        return
    hint = did_you_mean(agent, known) or (f"It knows: {', '.join(known[:10])}." if known else "")
    raise UnknownAgent(f"The history knows no agent {agent!r}. {hint}".rstrip())


def _agents_known(store: Store) -> list[str]:
    with store.reading() as connection:
        mine = callers.c.project == store.project_id, callers.c.agent.is_not(None)
        return sorted(connection.execute(select(callers.c.agent).where(*mine).distinct()).scalars())


def subjects_named(store: Store, source: str | None, tool: str | None = None) -> list[Subject]:
    """The sources of this name, or the tools; one without a source is that of every source.

    Raises:
        UnknownServer, UnknownTool: there never was one.
    """
    with store.reading() as connection:
        return _subjects(connection, store.project_id, source, tool)


def record_named(store: Store, source: str, tool: str) -> ToolRecord:
    """What is known of one tool; it was there last when its source was, unless it had gone.

    Raises:
        UnknownServer, UnknownTool: there never was one.
    """
    subject, *_ = subjects_named(store, source, tool)
    record, of_source = record_of(store, subject)
    return replace(record, last_seen=last_seen(record, of_source))


def changes_between(
    store: Store, source: str | None, tool: str | None, before: When, after: When
) -> list[ToolChanged]:
    """What is different between two points: of all, of a source, or of a tool.

    Raises:
        UnknownServer, UnknownTool: there never was one.
    """
    if source is None and tool is None:
        return tools_changed(store, before, after)
    found = subjects_named(store, source, tool)
    return [x for subject in found for x in tools_changed(store, before, after, subject)]


def last_change(
    store: Store, source: str, until: When | None = None
) -> tuple[int, datetime] | None:
    """The position before the tools of a source changed last until then, and when that was.

    None where nothing was listed by then.

    Raises:
        UnknownServer: there never was one.
    """
    found = list[tuple[int, datetime]]()
    position = position_of(store, until or When())
    for subject in subjects_named(store, source):
        changes = _OF_TOOLS + _OF_SOURCES
        wanted = Range(anchor=subject, changes=changes, until=position, newest_first=True)
        with store.reading() as connection:
            entries = log.entries(connection, store.project_id, wanted)
            for (time, _), group in groupby(entries, lambda x: (x.event.time, x.event.run)):
                together = list(group)
                if _is_change(together):
                    found.append((min(x.event.position for x in together) - 1, time))
                    break
    return max(found, default=None)


@dataclass(frozen=True, slots=True)
class LastChange:
    """What changed last in the tools of a source, as people call it, and when."""

    source: str
    time: datetime
    changes: list[ToolChanged]


def last_changes(store: Store, until: When) -> list[LastChange]:
    """That of every source that ever listed a tool by then; the newest at the end."""
    found = list[tuple[int, LastChange]]()
    for source in {x.shown_source for x in subjects_named(store, None)}:
        if (changed := last_change(store, source, until)) is not None:
            position, time = changed
            changes = changes_between(store, source, None, When(position=position), until)
            found.append((position, LastChange(source, time, changes)))
    return [x for _, x in sorted(found, key=lambda x: (x[0], x[1].source))]


def versions_named(store: Store, source: str, tool: str) -> list[Version]:
    """Every definition that a tool had, the first one first.

    Raises:
        UnknownServer, UnknownTool: there never was one.
    """
    subject, *_ = subjects_named(store, source, tool)
    return versions_of(store, subject)


def _is_change(together: list[Entry]) -> bool:
    """Whether these, of one listing or loss, changed a tool; those lost with a source did not."""
    changes = {y for x in together for y in (x.event.change, *x.changes)}
    return not changes.isdisjoint(_OF_TOOLS) and "disconnected" not in changes


def _subjects(
    connection: Connection, project: int, source: str | None, tool: str | None
) -> list[Subject]:
    if source is not None and tool is not None:
        mine = (subjects.c.tool == tool, subjects.c.source_name.in_(("", source)))
        found = _known(connection, project, *mine)
        if found := [x for x in found if x.shown_source == source]:
            return found
    known = _known(connection, project)
    all_tools = [x for x in known if x.tool is not None]
    all_sources = [x for x in known if x.tool is None]
    anchors = {*all_sources, *(x.anchor for x in all_tools)}
    wanted = {x for x in anchors if source in (None, x.shown_source)}
    if source is not None and not wanted:
        raise _no_source(source, anchors)
    if tool is None:
        return sorted(wanted, key=lambda x: x.context_id)
    of_them = [x for x in all_tools if x.anchor in wanted]
    found = [x for x in of_them if x.tool == tool]
    if not found:
        raise _no_tool(source, tool, of_them)
    return found


def _known(connection: Connection, project: int, *only: Any) -> list[Subject]:
    is_known = subjects.c.project == project, subjects.c.record.is_not(None)
    query = select(*_NAMES).where(*is_known, *only)
    return [subject_of(*row) for row in connection.execute(query)]


def _no_source(source: str, known: Iterable[Subject]) -> UnknownServer:
    names = sorted({x.shown_source for x in known})
    text = f"The history knows no server {source!r}. {_offer(source, names)}"
    return UnknownServer(text, source, nearest(source, names))


def _no_tool(source: str | None, tool: str, known: Iterable[Subject]) -> UnknownTool:
    names = sorted({x.tool or "" for x in known})
    text = f"The history knows no tool {tool!r}"
    of = f" of {source!r}" if source else ""
    return UnknownTool(f"{text}{of}. {_offer(tool, names)}")


def _offer(name: str, known: list[str]) -> str:
    shown = ", ".join(known[:_MOST_NAMES]) + (", ..." if len(known) > _MOST_NAMES else "")
    return did_you_mean(name, known) or (f"It knows: {shown}." if known else "It is empty.")
