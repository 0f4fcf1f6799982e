"""Asking the history, from the bridge's loop: each question has its limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import anyio

from ...core.errors import StoreFailed
from ...core.tools import Tool
from ..engine import Engine

if TYPE_CHECKING:
    from ...catalog.asking.past import When
    from ...catalog.comparing.compared import ToolChanged, Version
    from ...catalog.drawing.graph import Graph
    from ...catalog.records.fold import Records
    from ...catalog.records.record import ToolRecord
    from ...history.event import Event
    from ...history.store import Store

T = TypeVar("T")

At: TypeAlias = datetime | int | None
"""A point of the history: a time, the position of an event, or now. A time without a zone is one
of this machine's."""


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """Where the history is kept, without a password. `error` is empty while it can be used."""

    place: str
    error: str = ""


# A history of a million events, read on a busy machine from a disk that is slow.
_ANSWER_SECONDS = 120.0


async def answer(
    engine: Engine, question: Callable[[Store], T], *, from_any_file: bool = False
) -> T:
    """What the history says, after all that happened before.

    `from_any_file`: also from one that can be read and not written, as it was before.

    Raises:
        StoreFailed: it cannot be used, or says nothing in time. And what the question raises.
    """
    memory = engine.memory
    try:
        with anyio.fail_after(_ANSWER_SECONDS):
            ask = memory.read if from_any_file else memory.ask
            return await asyncio.wrap_future(ask(question))
    except TimeoutError:
        raise StoreFailed(
            memory.place.shown,
            f"it gave no answer within {_ANSWER_SECONDS:g} s.",
            "Ask for less, with a limit or a later begin, or ask again when it is less busy.",
        ) from None


async def written(engine: Engine) -> None:
    """Wait until all is written down that happened before, also what was decided.

    Raises:
        StoreFailed: it cannot be, and counts in this process only.
    """
    await answer(engine, _nothing)


async def store(engine: Engine) -> StoreStatus:
    """See `Bridge.store`."""
    try:
        await written(engine)
    except StoreFailed as reason:
        return StoreStatus(engine.memory.place.shown, str(reason))
    return StoreStatus(engine.memory.place.shown)


async def events(
    engine: Engine,
    server: str | None,
    tool: str | None,
    since: datetime | None,
    limit: int | None,
) -> list[Event]:
    """See `Bridge.history`."""
    return await answer(engine, partial(_events, server, tool, zoned(since), limit))


async def records(engine: Engine, at: At) -> Records:
    """See `Bridge.records`."""
    return await answer(engine, partial(_records, at))


async def tool_record(engine: Engine, server: str, tool: str) -> ToolRecord:
    """See `Bridge.tool_record`."""
    return await answer(engine, partial(_tool_record, server, tool))


async def difference(
    engine: Engine, server: str | None, tool: str | None, before: At, after: At
) -> list[ToolChanged]:
    """See `Bridge.difference`."""
    return await answer(engine, partial(_difference, server, tool, before, after))


async def graph(engine: Engine, at: At) -> Graph:
    """See `Bridge.graph`."""
    return await answer(engine, partial(_graph, at))


async def versions(engine: Engine, server: str, tool: str) -> list[Version]:
    """See `Bridge.versions`."""
    return await answer(engine, partial(_versions, server, tool))


async def refresh(engine: Engine, server: str, force: bool = False) -> list[Tool]:
    """See `Bridge.refresh`."""
    with engine.memory.writing_all(server) if force else nullcontext():
        return await engine.refresh(server)


def zoned(moment: datetime | None) -> datetime | None:
    """The time with its zone; without any it is one of this machine's."""
    return moment.astimezone() if moment else None


# What follows runs in the thread that owns the store. What it needs loads SQLAlchemy, which
# nobody who asks should have to wait for on a loop.


def _nothing(_: Store) -> None:
    pass


def _events(
    server: str | None, tool: str | None, since: datetime | None, limit: int | None, store: Store
) -> list[Event]:
    from ...catalog.asking.named import events_about
    from ...history.log import Range

    return events_about(store, server, tool, Range(since=since, limit=limit))


def _records(at: At, store: Store) -> Records:
    from ...catalog.asking.past import records_at

    return records_at(store, when(at))


def _tool_record(server: str, tool: str, store: Store) -> ToolRecord:
    from ...catalog.asking.named import subjects_named
    from ...catalog.records.record import last_seen

    subject, *_ = subjects_named(store, server, tool)
    records = _records(None, store)
    record = records.tools[subject]
    return replace(record, last_seen=last_seen(record, records.sources.get(subject.anchor)))


def _difference(
    server: str | None, tool: str | None, before: At, after: At, store: Store
) -> list[ToolChanged]:
    from ...catalog.asking.named import changes_between

    return changes_between(store, server, tool, when(before), when(after))


def _graph(at: At, store: Store) -> Graph:
    from ...catalog.asking.past import graph_at

    return graph_at(store, when(at))


def _versions(server: str, tool: str, store: Store) -> list[Version]:
    from ...catalog.asking.named import versions_named

    return versions_named(store, server, tool)


def when(at: At) -> When:
    """The point of the history as `catalog.asking.past` has it. Loads SQLAlchemy."""
    from ...catalog.asking.past import When

    return When(time=zoned(at)) if isinstance(at, datetime) else When(position=at)
