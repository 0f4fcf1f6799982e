"""All sources of one bridge: each with its owner task, isolated from the others.

A starting process takes a second of a core. If many start together, each is ready as late as the
last one and may miss its timeout. So `StartQueue` starts a few at a time.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

from ..core.calls import PROGRAM, Caller
from ..core.errors import SourceError
from ..core.events import Observer, SourceStatus
from .base import Source

logger = logging.getLogger(__name__)

# Ending a stubborn server takes a few seconds; all are ended at the same time.
_STOP_SECONDS = 8.0
# Three for each core: a start also waits for the disk and for us.
_STARTS_PER_CORE = 3
# A slower start, such as a download on first use, does not hold up the others.
_SLOW_SECONDS = 3.0


K = TypeVar("K", bound=Hashable)


class SourcePool(Generic[K]):
    """Pool that starts sources on demand and stops them all at the end.

    `make` returns a new source for a key, such as its name; it is called on the pool's event loop
    when the source is first needed, and again after `stop`. `stop_dependents` stops the sources
    that depend on one.
    """

    def __init__(self, make: Callable[[K], Source], observer: Observer) -> None:
        self.stop_dependents: Callable[[K], Awaitable[None]] | None = None
        self._make = make
        self._observer = observer
        self._sources: dict[K, Source] = {}
        # By key, the owner that was started last, until it has ended.
        self._owners: dict[K, _Owner] = {}
        self._tasks: TaskGroup | None = None

    async def serve(self, ready: Callable[[], None], stop: anyio.Event) -> None:
        """Run the owner tasks, call `ready`, and end all of them together once `stop` is set."""
        async with anyio.create_task_group() as self._tasks:
            ready()
            await stop.wait()
            await self.stop_all(list(self._sources))
            self._tasks.cancel_scope.cancel()

    def start(self, name: K) -> Source:
        """Return the source of this key; start its owner task if it is not running.

        Raises:
            UnknownServer: from `make`.
            SettingsError: from `make`.
        """
        if name not in self._sources:
            assert self._tasks is not None, "the pool is not being served"
            source = self._sources[name] = self._make(name)
            previous = self._owners.get(name)
            owner = self._owners[name] = _Owner(source)
            self._tasks.start_soon(self._own, name, owner, previous, name=f"source {name}")
        return self._sources[name]

    async def ready(
        self, names: Iterable[K], caller: Caller = PROGRAM
    ) -> dict[str, SourceError | None]:
        """Wait for all of these at once, each to its own limit; return their errors or None."""
        verdicts: dict[str, SourceError | None] = {}

        async def wait_for(source: Source) -> None:
            try:
                await source.ready(caller)
                verdicts[source.name] = None
            except SourceError as error:
                verdicts[source.name] = error

        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(wait_for, self.start(name))
        return verdicts

    async def stop(self, name: K) -> None:
        """Close one source; a later `start` makes a new one once this one has ended."""
        if self.stop_dependents is not None:
            await self.stop_dependents(name)
        source = self._sources.pop(name, None)
        if source is None:
            return
        owner = self._owners[name]
        owner.is_stopping = True
        source.stop()
        try:
            with anyio.move_on_after(_STOP_SECONDS):
                await owner.ended.wait()
        finally:
            owner.scope.cancel()

    async def stop_all(self, keys: Iterable[K]) -> None:
        """Close these sources, all at once."""
        async with anyio.create_task_group() as tasks:
            for key in keys:
                tasks.start_soon(self.stop, key)

    def running(self) -> Mapping[K, Source]:
        """Return the sources that are in use."""
        return self._sources

    def statuses(self) -> dict[K, SourceStatus]:
        """Return the status of each source."""
        return {name: source.status() for name, source in self._sources.items()}

    async def _own(self, name: K, owner: _Owner, previous: _Owner | None) -> None:
        source = owner.source
        try:
            if previous is not None:
                await previous.ended.wait()  # two instances may fight over a file or a port
            with owner.scope:
                await source.own(self._observer)
        except Exception:
            # Our own error in one owner must not end the others. While Python shuts down it means
            # nothing: no new threads start then, whatever a source is doing.
            is_shutdown = sys.is_finalizing() or not threading.main_thread().is_alive()
            level = logging.DEBUG if owner.is_stopping or is_shutdown else logging.ERROR
            logger.log(level, "The owner of source %r failed", source.name, exc_info=True)
        finally:
            owner.ended.set()
            if self._sources.get(name) is source:
                del self._sources[name]  # the next `start` makes a new one
            if self._owners.get(name) is owner:
                del self._owners[name]


@dataclass
class _Owner:
    """The one task that owns a source."""

    source: Source
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)
    is_stopping: bool = False


class StartQueue:
    """The queue of all starts of one bridge. Used on its event loop."""

    def __init__(self) -> None:
        self._places = anyio.CapacityLimiter(_STARTS_PER_CORE * (os.cpu_count() or 1))

    async def begin(self, start: object) -> None:
        """Wait for the turn of a start, which `end` ends."""
        await self._places.acquire_on_behalf_of(start)
        asyncio.get_running_loop().call_later(_SLOW_SECONDS, self.end, start)

    def end(self, start: object) -> None:
        """Let the next start begin, unless this one has never begun or has already ended."""
        with suppress(RuntimeError):
            self._places.release_on_behalf_of(start)
