"""From the names that people know to what the history has of them.

Like `past`, each is done in the clerk's thread, or in that of a command.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from itertools import groupby

from sqlalchemy import Column, Connection, select

from ...core.errors import UnknownServer, UnknownTool
from ...core.names import did_you_mean, nearest
from ...history import log
from ...history.event import Change, Event
from ...history.log import Range, subject_of
from ...history.store import Store
from ...history.subject import Subject
from ...history.tables import sources, tools
from ..comparing.compared import ToolChanged, Version
from .past import When, position_of, tools_changed, versions_of

_OF_TOOLS: tuple[Change, ...] = ("seeded", "discovered", "changed", "returned", "unavailable")
_OF_SOURCES: tuple[Change, ...] = ("connected", "reconnected", "refreshed", "disconnected")
_MOST_NAMES = 10  # of those that are told to somebody who wrote another one


def events_about(store: Store, source: str | None, tool: str | None, wanted: Range) -> list[Event]:
    """The newest events of a range, oldest first: of one source, one tool, or all.

    A tool without a source is that of every source that has one of this name.

    Raises:
        UnknownServer, UnknownTool: there never was one.
        StoreFailed: the store.
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


def subjects_named(store: Store, source: str | None, tool: str | None = None) -> list[Subject]:
    """The sources of this name, or the tools; one without a source is that of every source.

    Raises:
        UnknownServer, UnknownTool: there never was one.
        StoreFailed: the store.
    """
    with store.reading() as connection:
        return _subjects(connection, store.project_id, source, tool)


def changes_between(
    store: Store, source: str | None, tool: str | None, before: When, after: When
) -> list[ToolChanged]:
    """What is different between two points: of all, of a source, or of a tool.

    Raises:
        UnknownServer, UnknownTool: there never was one.
        StoreFailed: the store.
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
        StoreFailed: the store.
    """
    found = list[tuple[int, datetime]]()
    position = position_of(store, until or When())
    for subject in subjects_named(store, source):
        changes = _OF_TOOLS + _OF_SOURCES
        wanted = Range(anchor=subject, changes=changes, until=position, newest_first=True)
        with store.reading() as connection:
            events = log.read(connection, store.project_id, wanted)
            for _, group in groupby(events, lambda x: (x.time, x.run)):
                together = list(group)
                if _is_change(together):
                    first = min(together, key=lambda x: x.position)
                    found.append((first.position - 1, first.time))
                    break
    return max(found, default=None)


def versions_named(store: Store, source: str, tool: str) -> list[Version]:
    """Every definition that a tool had, the first one first.

    Raises:
        UnknownServer, UnknownTool: there never was one.
        StoreFailed: the store.
    """
    subject, *_ = subjects_named(store, source, tool)
    return versions_of(store, subject)


def _is_change(together: list[Event]) -> bool:
    """Whether these, of one listing or loss, changed a tool; those lost with a source did not."""
    changes = {x.change for x in together}
    return not changes.isdisjoint(_OF_TOOLS) and "disconnected" not in changes


def _subjects(
    connection: Connection, project: int, source: str | None, tool: str | None
) -> list[Subject]:
    all_tools = _known(connection, project, tools.c.kind, tools.c.source_name, tools.c.name)
    all_sources = _known(connection, project, sources.c.kind, sources.c.name)
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


def _known(connection: Connection, project: int, *names: Column[str]) -> list[Subject]:
    query = select(*names).where(names[0].table.c.project == project)
    return [_subject(*row) for row in connection.execute(query)]


def _subject(kind: str, source: str, tool: str | None = None) -> Subject:
    return subject_of(kind, source, tool)


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
