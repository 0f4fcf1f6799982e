"""Events of runs and changes of servers: queued on the bridge's loop, read from outside it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar

import anyio

from .portal import Portal, closed_meanwhile

if TYPE_CHECKING:
    from ..agent.events import RunEvent

T = TypeVar("T")
R = TypeVar("R")

OnChange: TypeAlias = Callable[[str], object]
"""Gets the URI of the changed resource, or the name of the list."""

Tell: TypeAlias = "Callable[[RunEvent], None]"
"""Gets each event of a run, on the bridge's loop."""

Play: TypeAlias = Callable[[Tell], Coroutine[Any, Any, R]]
"""Runs to the end on the bridge's loop, and reports every event there."""

Leave: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""Ends a subscription, on the bridge's loop."""


class Feed(Generic[T]):
    """A queue of items, used on the bridge's loop except for `take_now`."""

    def __init__(self) -> None:
        self._items = deque[T]()
        self._has_ended = False
        self._changed = anyio.Event()

    def put(self, item: T) -> None:
        """Add an item, and wake all waiters."""
        self._items.append(item)
        self._wake()

    def end(self) -> None:
        """Mark the end: no more items come."""
        self._has_ended = True
        self._wake()

    async def take(self, timeout_seconds: float | None = None) -> T | None:
        """Wait for the next item; return None after the limit, or at the end."""
        with anyio.move_on_after(timeout_seconds):
            while not (self._items or self._has_ended):
                await self._changed.wait()
        return self.take_now()

    def take_now(self) -> T | None:
        """Return the next item, or None; also after the loop has ended."""
        return self._items.popleft() if self._items else None

    def _wake(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


class Changes(Feed[str]):
    """Changes that nobody has read yet, without duplicates."""

    def __init__(self, on_change: OnChange | None) -> None:
        super().__init__()
        self._on_change = on_change

    def put(self, item: str) -> None:
        """Add a change."""
        if item not in self._items:
            super().put(item)
        if self._on_change is not None:
            self._on_change(item)


class _FeedReader(Generic[T]):
    """Takes items of a feed, also after the bridge was closed."""

    def __init__(self, portal: Portal, feed: Feed[T]) -> None:
        self._portal = portal
        self._feed = feed

    def _take(self, timeout_seconds: float | None = None) -> T | None:
        try:
            return self._portal.call(self._feed.take, timeout_seconds)
        except RuntimeError:
            if self._portal.is_open:
                raise
            return self._feed.take_now()

    async def _take_async(self, timeout_seconds: float | None = None) -> T | None:
        try:
            return await self._portal.call_async(self._feed.take, timeout_seconds)
        except RuntimeError:
            if self._portal.is_open:
                raise
            return self._feed.take_now()


class _SubscriptionReader(_FeedReader[str]):
    def __init__(self, portal: Portal, changes: Changes, leave: Leave) -> None:
        super().__init__(portal, changes)
        self._leave = leave


class Subscription(_SubscriptionReader, AbstractContextManager["Subscription"]):
    """Receives changes until it is closed, over new connections too.

    After a lost connection everything counts as changed: servers do not repeat notices.
    """

    def wait(self, timeout_seconds: float | None = None) -> str:
        """Return the next change; wait if there is none that nobody has read.

        Return the URI of the resource, or the name of the list; "" if there was none within the
        limit, or until it or its bridge was closed.
        """
        return self._take(timeout_seconds) or ""

    def close(self) -> None:
        """Stop listening. May be called more than once."""
        if self._portal.is_open:
            self._portal.call(self._leave)

    def __exit__(self, *_: object) -> None:
        self.close()


class AioSubscription(_SubscriptionReader, AbstractAsyncContextManager["AioSubscription"]):
    """A `Subscription` for a program that owns a loop."""

    async def wait(self, timeout_seconds: float | None = None) -> str:
        """See `Subscription.wait`."""
        return await self._take_async(timeout_seconds) or ""

    async def close(self) -> None:
        """See `Subscription.close`."""
        if self._portal.is_open:
            await self._leave()

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _StartedRun(_FeedReader["RunEvent"], Generic[R]):
    """A run that was started; it stops when this is garbage-collected."""

    def __init__(self, portal: Portal, play: Play[R]) -> None:
        events = Feed["RunEvent"]()
        super().__init__(portal, events)
        self._was_stopped = False
        self._is_over = False
        self._future = portal.submit(play, events.put)
        # The end comes after all events, and once the result is there.
        self._future.add_done_callback(lambda _: portal.post(events.end))

    @property
    def result(self) -> R:
        """Return the result of the run, or raise its error.

        Raises:
            RuntimeError: it goes on, was stopped, or the bridge was closed.
        """
        if self._was_stopped:
            raise RuntimeError("The run was stopped before it came to a result.")
        if not self._future.done():
            raise RuntimeError("The run is not over: its result is available after its last event.")
        try:
            return self._future.result()
        except CancelledError:
            raise closed_meanwhile() from None

    def _stop(self) -> None:
        self._was_stopped = self._was_stopped or self._future.cancel()
        self._is_over = True

    def _end(self) -> None:
        """Raise the run's error once, unless it was stopped."""
        if self._is_over:
            return
        self._is_over = True
        if not (self._was_stopped or self._future.done()):
            raise closed_meanwhile()  # nothing is left to end it, as in a fork
        if not self._was_stopped:
            _ = self.result

    def __del__(self) -> None:
        if hasattr(self, "_future"):
            self._stop()


class AgentStream(_StartedRun[R]):
    """Events of a run as they come. The error that ends a run is raised at the end of them.

    `result` is there afterwards. `close`, the end of its `with` block, and garbage collection stop
    a run that goes on: its calls are cancelled at their servers.
    """

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> RunEvent:
        event = None if self._is_over else self._take()
        if event is None:
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


class AioAgentStream(_StartedRun[R]):
    """The same for a caller on a loop: `async for`, `async with`."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> RunEvent:
        event = None if self._is_over else await self._take_async()
        if event is None:
            self._end()
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        """Stop the run, if it goes on."""
        self._stop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop()
