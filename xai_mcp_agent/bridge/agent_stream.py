"""The events of an agent's run, for whoever goes through them: in a thread, or on a loop."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, Generic, Self, TypeAlias, TypeVar

from ..agent.events import RunEvent
from .portal import Portal, closed_meanwhile

R = TypeVar("R")

Tell: TypeAlias = Callable[[RunEvent], None]
Play: TypeAlias = Callable[[Tell], Coroutine[Any, Any, R]]
"""Runs to the end on the bridge's loop, and tells every event there."""

_CHECK_SECONDS = 0.5  # how often a thread that waits makes sure that the loop still lives


class _Run(Generic[R]):
    """A run that was started, and how it ends."""

    def __init__(self, portal: Portal, play: Play[R], tell: Callable[[RunEvent | None], None]):
        self.was_stopped = False
        self._portal = portal
        self._future: Future[R] = portal.submit(play, tell)
        # Behind all events: both are told on the bridge's loop.
        self._future.add_done_callback(lambda _: tell(None))

    @property
    def is_over(self) -> bool:
        return self._future.done()

    @property
    def is_lost(self) -> bool:
        """Whether nobody is left who could end it: so it is in a fork of its process."""
        return not (self.is_over or self._portal.has_thread)

    def result(self) -> R:
        """What it came to. What it raised is raised.

        Raises:
            RuntimeError: it goes on, was stopped, or the bridge was closed.
        """
        if self.was_stopped:
            raise RuntimeError("The run was stopped before it came to a result.")
        if not self._future.done():
            raise RuntimeError("The run goes on: its result is there when its events have ended.")
        try:
            return self._future.result()
        except CancelledError:
            raise closed_meanwhile() from None

    def stop(self) -> None:
        self.was_stopped = self.was_stopped or self._future.cancel()

    def end(self) -> None:
        """Raise what it raised, unless it was stopped."""
        if not self.was_stopped:
            self.result()


class AgentStream(Generic[R]):
    """The events of a run as they come. The error that ends a run is raised at the end of them.

    `result` is there afterwards. `close`, the end of its `with` block, and forgetting it stop a
    run that goes on: its calls are cancelled at their servers.
    """

    def __init__(self, portal: Portal, play: Play[R]) -> None:
        self._events = queue.SimpleQueue[RunEvent | None]()
        self._run = _Run(portal, play, self._events.put)
        self._has_ended = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> RunEvent:
        event = None if self._has_ended else self._next()
        if event is None:
            self._has_ended = True
            self._run.end()
            raise StopIteration
        return event

    @property
    def result(self) -> R:
        """What the run came to. What it raised is raised."""
        return self._run.result()

    def close(self) -> None:
        """Stop the run, if it goes on."""
        self._run.stop()
        self._has_ended = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_run"):
            self._run.stop()

    def _next(self) -> RunEvent | None:
        while True:
            try:
                return self._events.get(timeout=_CHECK_SECONDS)
            except queue.Empty:
                if self._run.is_lost:
                    raise closed_meanwhile() from None
                if self._run.is_over and self._events.empty():
                    return None


class AioAgentStream(Generic[R]):
    """The same for a caller on a loop: `async for`, `async with`."""

    def __init__(self, portal: Portal, play: Play[R]) -> None:
        self._events = _Events()
        # What the run holds must not hold this: who forgets it stops the run.
        self._run = _Run(portal, play, self._events.put)
        self._has_ended = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> RunEvent:
        event = None if self._has_ended else await self._events.get()
        if event is None:
            self._has_ended = True
            self._run.end()
            raise StopAsyncIteration
        return event

    @property
    def result(self) -> R:
        """What the run came to. What it raised is raised."""
        return self._run.result()

    async def aclose(self) -> None:
        """Stop the run, if it goes on."""
        self._run.stop()
        self._has_ended = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        if hasattr(self, "_run"):
            self._run.stop()


class _Events:
    """Events from the bridge's loop for tasks on others; None, the last, is for all of them."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a stream may be collected while this is held
        self._events = deque[RunEvent | None]()
        self._waiting: list[asyncio.Future[None]] = []

    def put(self, event: RunEvent | None) -> None:
        with self._lock:
            self._events.append(event)
            waiting, self._waiting = self._waiting, []
        for future in waiting:
            with suppress(RuntimeError):  # that loop is closed: nobody waits on it
                future.get_loop().call_soon_threadsafe(_wake, future)

    async def get(self) -> RunEvent | None:
        while True:
            with self._lock:
                if self._events:
                    return self._events.popleft() if self._events[0] else None
                future = asyncio.get_running_loop().create_future()
                self._waiting.append(future)
            await future


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
