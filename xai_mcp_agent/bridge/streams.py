"""Events of runs and changes of servers: kept on the bridge's loop, taken from there by others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any, Generic, Self, TypeAlias, TypeVar

import anyio

from ..agent.events import RunEvent
from .portal import Portal, closed_meanwhile

T = TypeVar("T")
R = TypeVar("R")

OnChange: TypeAlias = Callable[[str], object]
"""Given the URI of the resource that changed, or the name of the list."""

Tell: TypeAlias = Callable[[RunEvent], None]
Play: TypeAlias = Callable[[Tell], Coroutine[Any, Any, R]]
"""Runs to the end on the bridge's loop, and tells every event there."""

Leave: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""Ends a subscription, on the bridge's loop."""


class Feed(Generic[T]):
    """Items in the order in which they came. Used on the bridge's loop, but for `take_now`."""

    def __init__(self) -> None:
        self._items = deque[T]()
        self._has_ended = False
        self._news = anyio.Event()

    def put(self, item: T) -> None:
        """Add an item, and wake everybody who waits for one."""
        self._items.append(item)
        self._wake()

    def end(self) -> None:
        """No more items come."""
        self._has_ended = True
        self._wake()

    async def take(self, timeout_seconds: float | None = None) -> T | None:
        """The next item, which is waited for; None after the limit, or when no more come."""
        with anyio.move_on_after(timeout_seconds):
            while not (self._items or self._has_ended):
                await self._news.wait()
        return self.take_now()

    def take_now(self) -> T | None:
        """The next item, or None; also where the loop has ended."""
        return self._items.popleft() if self._items else None

    def _wake(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()


class Changes(Feed[str]):
    """What changed and was not waited for yet: a burst of changes of one thing is one."""

    def __init__(self, on_change: OnChange | None) -> None:
        super().__init__()
        self._on_change = on_change

    def put(self, item: str) -> None:
        """Note that this has changed."""
        if item not in self._items:
            super().put(item)
        if self._on_change is not None:
            self._on_change(item)


def take(portal: Portal, feed: Feed[T], timeout_seconds: float | None = None) -> T | None:
    """The next item of a feed for a thread; see `Feed.take`."""
    try:
        return portal.call(feed.take, timeout_seconds)
    except RuntimeError:
        if portal.is_open:
            raise
        return feed.take_now()


async def take_async(
    portal: Portal, feed: Feed[T], timeout_seconds: float | None = None
) -> T | None:
    """The same for a caller on another loop."""
    try:
        return await portal.awaited(feed.take, timeout_seconds)
    except RuntimeError:
        if portal.is_open:
            raise
        return feed.take_now()


class _Subscribed:
    def __init__(self, portal: Portal, changes: Changes, leave: Leave) -> None:
        self._portal = portal
        self._changes = changes
        self._leave = leave


class Subscription(_Subscribed):
    """Hears of changes until it is closed, over new connections too.

    After a connection was lost everything counts as changed: servers tell nothing twice.
    """

    def wait(self, timeout_seconds: float | None = None) -> str:
        """Wait for the next change, or take one that was not waited for yet; says what changed.

        The URI of the resource, or the name of the list; empty if there was none within the limit,
        or until this was closed, or its bridge.
        """
        return take(self._portal, self._changes, timeout_seconds) or ""

    def close(self) -> None:
        """Hear nothing more. May be called more than once."""
        if self._portal.is_open:
            self._portal.call(self._leave)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AioSubscription(_Subscribed):
    """A `Subscription` for a program that owns a loop."""

    async def wait(self, timeout_seconds: float | None = None) -> str:
        """See `Subscription.wait`."""
        return await take_async(self._portal, self._changes, timeout_seconds) or ""

    async def close(self) -> None:
        """See `Subscription.close`."""
        if self._portal.is_open:
            await self._leave()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _Run(Generic[R]):
    """A run that was begun. Both streams stand on it; who forgets it stops the run."""

    def __init__(self, portal: Portal, play: Play[R]) -> None:
        self._portal = portal
        self._events = events = Feed[RunEvent]()
        self._was_stopped = False
        self._is_over = False
        self._future = portal.submit(play, events.put)
        # Behind all events, which are put on the loop, and once the result is there.
        self._future.add_done_callback(lambda _: portal.post(events.end))

    @property
    def result(self) -> R:
        """What the run came to. What it raised is raised.

        Raises:
            RuntimeError: it goes on, was stopped, or the bridge was closed.
        """
        if self._was_stopped:
            raise RuntimeError("The run was stopped before it came to a result.")
        if not self._future.done():
            raise RuntimeError("The run goes on: its result is there when its events have ended.")
        try:
            return self._future.result()
        except CancelledError:
            raise closed_meanwhile() from None

    def _stop(self) -> None:
        self._was_stopped = self._was_stopped or self._future.cancel()
        self._is_over = True

    def _end(self) -> None:
        """Raise what the run raised, unless it was stopped."""
        self._is_over = True
        if not (self._was_stopped or self._future.done()):
            raise closed_meanwhile()  # nobody is left who could end it, as in a fork
        if not self._was_stopped:
            _ = self.result

    def __del__(self) -> None:
        if hasattr(self, "_future"):
            self._stop()


class AgentStream(_Run[R]):
    """The events of a run as they come. The error that ends a run is raised at the end of them.

    `result` is there afterwards. `close`, the end of its `with` block, and forgetting it stop a
    run that goes on: its calls are cancelled at their servers.
    """

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> RunEvent:
        event = None if self._is_over else take(self._portal, self._events)
        if event is None:
            if not self._is_over:
                self._end()
            raise StopIteration
        return event

    def close(self) -> None:
        """Stop the run, if it goes on."""
        self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AioAgentStream(_Run[R]):
    """The same for a caller on a loop: `async for`, `async with`."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> RunEvent:
        event = None if self._is_over else await take_async(self._portal, self._events)
        if event is None:
            if not self._is_over:
                self._end()
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        """Stop the run, if it goes on."""
        self._stop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
