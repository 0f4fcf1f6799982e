"""Queries on the history from the bridge's loop, each with a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import anyio
import anyio.to_thread

from ..core.errors import BadSetting, StoreFailed
from ..core.tools import Tool
from ..history.place import StoreStatus
from .engine import Engine

if TYPE_CHECKING:
    from ..history.diff.changes import ToolChanged, Version
    from ..history.event import Event
    from ..history.graph import Graph
    from ..history.queries import ToolsTold, When
    from ..history.records import Records, ToolRecord
    from ..history.stats import Stats
    from ..history.store import Store

T = TypeVar("T")

At: TypeAlias = datetime | int | None
"""A point of the history: a time, the position of an event, or now. A time without a zone is one
of this machine's."""


# A history of a million events, read on a busy machine from a disk that is slow.
ANSWER_SECONDS = 120.0


async def answer(
    engine: Engine, question: Callable[[Store], T], *, from_any_file: bool = False
) -> T:
    """What the history says, after all that happened before.

    `from_any_file`: also from one that can be read and not written, as it was before.

    Raises:
        StoreFailed: it cannot be used, or says nothing in time. And what the question raises.
    """
    recorder = engine.recorder
    try:
        with anyio.fail_after(ANSWER_SECONDS):
            ask = recorder.read if from_any_file else recorder.ask
            return await asyncio.wrap_future(ask(question))
    except TimeoutError:
        raise StoreFailed(
            recorder.place.shown,
            f"it gave no answer within {ANSWER_SECONDS:g} s.",
            "Ask for less, with a limit or a later begin, or ask again when it is less busy.",
        ) from None


async def _looked_up(engine: Engine, question: Callable[[Store], T]) -> T:
    """As `answer`, for what only reads: also from a file that we cannot write, as it is."""
    place = engine.recorder.place
    return await answer(engine, question, from_any_file=place.is_only_to_read)


async def written(engine: Engine) -> None:
    """Wait until all is written down that happened before, also what was decided.

    Raises:
        StoreFailed: it cannot be, and counts in this process only.
    """
    await answer(engine, _nothing)


async def store(engine: Engine) -> StoreStatus:
    """See `Bridge.store`."""
    if engine.recorder.place.is_off:
        return StoreStatus(engine.recorder.place.shown)
    try:
        await written(engine)
    except StoreFailed as reason:
        return StoreStatus(engine.recorder.place.shown, str(reason))
    return StoreStatus(engine.recorder.place.shown)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which events somebody wants to read; see `Bridge.history`."""

    since: datetime | None = None
    until: At = None
    failed: bool = False
    agent: str | None = None
    text: str = ""
    limit: int | None = None


async def events(
    engine: Engine, server: str | None, tool: str | None, chosen: Chosen
) -> list[Event]:
    """See `Bridge.history`."""
    if chosen.limit is not None and chosen.limit < 0:
        said = f"`limit` is {chosen.limit}. Give how many of the newest events, or None."
        raise BadSetting(said)
    return await _looked_up(engine, partial(_events, server, tool, chosen))


async def records(engine: Engine, at: At) -> Records:
    """See `Bridge.records`."""
    found = await _looked_up(engine, partial(_records, at))
    if at is None:
        await engine.decisions.read()
        found.tools = {x: _marked(engine, y) for x, y in found.tools.items()}
    return found


async def stats(engine: Engine, since: datetime | None) -> Stats:
    """See `Bridge.stats`."""
    return await answer(engine, partial(_stats, zoned(since)), from_any_file=True)


async def tool_record(engine: Engine, server: str, tool: str) -> ToolRecord:
    """See `Bridge.tool_record`."""
    found = await _looked_up(engine, partial(_tool_record, server, tool))
    await engine.decisions.read()
    return _marked(engine, found)


async def difference(
    engine: Engine, server: str | None, tool: str | None, before: At, after: At
) -> list[ToolChanged]:
    """See `Bridge.difference`."""
    return await _looked_up(engine, partial(_difference, server, tool, before, after))


async def graph(engine: Engine, at: At) -> Graph:
    """See `Bridge.graph`."""
    found = await _looked_up(engine, partial(_graph, at))
    if at is not None:
        return found
    await engine.decisions.read()
    return found.marked(engine.decisions.is_off)


async def graph_around(
    engine: Engine, at: At, server: str | None, tool: str | None, limit: int
) -> Graph:
    """See `Bridge.graph`."""
    told = await _looked_up(engine, partial(_tools_told, at, server, tool))
    is_off = None
    if at is None:
        await engine.decisions.read()
        is_off = engine.decisions.is_off
    # In a thread: thousands of tools are read for it.
    around = partial(engine.flow_finder.around, told, is_off, limit)
    return await anyio.to_thread.run_sync(around)


async def versions(engine: Engine, server: str, tool: str) -> list[Version]:
    """See `Bridge.versions`."""
    return await _looked_up(engine, partial(_versions, server, tool))


async def refresh(engine: Engine, server: str, force: bool = False) -> list[Tool]:
    """See `Bridge.refresh`."""
    with engine.recorder.writing_all(server) if force else nullcontext():
        return await engine.refresh(server)


def zoned(moment: datetime | None) -> datetime | None:
    """The time with its zone; without any it is one of this machine's."""
    return moment.astimezone() if moment else None


# What follows runs in the thread that owns the store. What it needs loads SQLAlchemy, which
# nobody who asks should have to wait for on a loop.


def _marked(engine: Engine, record: ToolRecord) -> ToolRecord:
    pin = engine.pin_of(record.subject.source, engine.caller)
    return engine.decisions.marked_record(record, pin)


def _nothing(_: Store) -> None:
    pass


def _events(server: str | None, tool: str | None, chosen: Chosen, store: Store) -> list[Event]:
    from ..history.log import Range
    from ..history.queries import check_agent, events_about, position_of

    check_agent(store, chosen.agent)
    until = position_of(store, when(chosen.until))
    wanted = Range(
        since=zoned(chosen.since), until=until, failed=chosen.failed, agent=chosen.agent,
        text=chosen.text, limit=chosen.limit,
    )  # fmt: skip
    return events_about(store, server, tool, wanted)


def _records(at: At, store: Store) -> Records:
    from ..history.queries import records_at

    return records_at(store, when(at))


def _stats(since: datetime | None, store: Store) -> Stats:
    from ..history.counting import stats_since

    return stats_since(store, since)


def _tool_record(server: str, tool: str, store: Store) -> ToolRecord:
    from ..history.queries import record_named

    return record_named(store, server, tool)


def _difference(
    server: str | None, tool: str | None, before: At, after: At, store: Store
) -> list[ToolChanged]:
    from ..history.queries import changes_between

    return changes_between(store, server, tool, when(before), when(after))


def _graph(at: At, store: Store) -> Graph:
    from ..history.queries import graph_at

    return graph_at(store, when(at))


def _tools_told(at: At, server: str | None, tool: str | None, store: Store) -> ToolsTold:
    from ..history.queries import tools_told

    return tools_told(store, when(at), server, tool)


def _versions(server: str, tool: str, store: Store) -> list[Version]:
    from ..history.queries import versions_named

    return versions_named(store, server, tool)


def when(at: At) -> When:
    """The point of the history as `history.queries` has it. Loads SQLAlchemy."""
    from ..history.queries import When

    return When(time=zoned(at)) if isinstance(at, datetime) else When(position=at)
