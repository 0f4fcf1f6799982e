"""Subscriptions to changes of resources and lists: wait for the next change, or be called."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import monotonic
from typing import TypeAlias

import anyio

OnChange: TypeAlias = Callable[[str], object]
"""Given the URI of the resource that changed, or the name of the list."""


class Subscription:
    """Hears of changes until it is closed, over new connections too.

    After a connection was lost everything counts as changed: servers tell nothing twice.
    """

    def __init__(self, news: News, leave: Callable[[], None]) -> None:
        self._news = news
        self._leave = leave

    def wait(self, timeout_seconds: float | None = None) -> str:
        """Wait for the next change, or take one that was not waited for yet; says what changed.

        The URI of the resource, or the name of the list; empty if there was none within the limit,
        or until this was closed, or its bridge.
        """
        return self._news.wait(timeout_seconds)

    def close(self) -> None:
        """Hear nothing more. May be called more than once."""
        self._news.close()
        self._leave()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AioSubscription:
    """A `Subscription` for a program that owns a loop."""

    def __init__(self, news: AioNews, leave: Callable[[], Awaitable[None]]) -> None:
        self._news = news
        self._leave = leave

    async def wait(self, timeout_seconds: float | None = None) -> str:
        """See `Subscription.wait`."""
        return await self._news.wait(timeout_seconds)

    async def close(self) -> None:
        """See `Subscription.close`."""
        self._news.close()
        await self._leave()

    async def __aenter__(self) -> AioSubscription:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class News:
    """What changed and was not waited for yet. Does not know the bridge, which holds it."""

    def __init__(self, on_change: OnChange | None) -> None:
        self._on_change = on_change
        self._changed: dict[str, None] = {}
        self._is_closed = False
        self._more = threading.Condition()

    def tell(self, what: str) -> None:
        """Called by the bridge, on its own loop."""
        with self._more:
            self._changed[what] = None
            self._more.notify_all()
        if self._on_change is not None:
            self._on_change(what)

    def wait(self, timeout_seconds: float | None) -> str:
        """See `Subscription.wait`."""
        ends_at = None if timeout_seconds is None else monotonic() + timeout_seconds
        with self._more:
            while not self._changed and not self._is_closed:
                # In steps, because on Windows an interrupt is seen only between them.
                left = 1.0 if ends_at is None else min(ends_at - monotonic(), 1.0)
                if left <= 0:
                    return ""
                self._more.wait(left)
            return _taken(self._changed)

    def close(self) -> None:
        """Nothing more will change: let go of who waits. Called from any thread."""
        with self._more:
            self._is_closed = True
            self._more.notify_all()


class AioNews:
    """As `News`, for a program's own loop: `on_change` is called there."""

    def __init__(self, on_change: OnChange | None) -> None:
        self._on_change = on_change
        self._loop = asyncio.get_running_loop()
        self._changed: dict[str, None] = {}
        self._is_closed = False
        self._more = anyio.Event()

    def tell(self, what: str) -> None:
        """Called by the bridge, on its own loop."""
        self._on_loop(self._note, what)

    def close(self) -> None:
        """See `News.close`."""
        self._on_loop(self._end)

    async def wait(self, timeout_seconds: float | None) -> str:
        """See `Subscription.wait`."""
        with anyio.move_on_after(timeout_seconds):
            while not self._changed and not self._is_closed:
                if self._more.is_set():  # else somebody else waits for it already
                    self._more = anyio.Event()
                await self._more.wait()
            return _taken(self._changed)
        return ""

    def _on_loop(self, do: Callable[..., None], *args: str) -> None:
        with suppress(RuntimeError):  # it was closed
            self._loop.call_soon_threadsafe(do, *args)

    def _end(self) -> None:
        self._is_closed = True
        self._more.set()

    def _note(self, what: str) -> None:
        self._changed[what] = None
        self._more.set()
        if self._on_change is not None:
            self._on_change(what)


def _taken(changed: dict[str, None]) -> str:
    """The first of them, which is gone then; empty if there is none."""
    first = next(iter(changed), "")
    changed.pop(first, None)
    return first
