"""The door between ordinary threads and the bridge's one event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import anyio

T = TypeVar("T")

_START_SECONDS = 30.0
# Sources are ended within eight seconds; a little more for the loop itself.
_CLOSE_SECONDS = 12.0


class Portal:
    """A daemon thread with one event loop. Any thread may call in; the loop's own may not.

    `main` runs on the loop for as long as the portal is open. It calls the first thing it
    is given when it can be called itself, and ends when the event, the second, is set.
    """

    def __init__(self, main: Callable[[Callable[[], None], anyio.Event], Awaitable[None]]) -> None:
        self._main = main
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._run, name="xai-mcp-bridge", daemon=True)
        self._thread.start()
        if not self._ready.wait(_START_SECONDS):
            raise RuntimeError("The bridge's event loop did not start.")

    @property
    def is_open(self) -> bool:
        """Whether calls can still be made from this process."""
        return self._thread.is_alive() and not self._closing and self._pid == os.getpid()

    def call(self, make: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """Run a coroutine function on the loop and wait for its result.

        An interrupt of the waiting thread cancels it there.
        """
        future = self.submit(make, *args, **options)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def submit(
        self, make: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any
    ) -> concurrent.futures.Future[T]:
        """Start a coroutine function on the loop; cancelling the future cancels it there.

        Raises:
            RuntimeError: the portal is closed, belongs to the parent of a forked process, or the
                caller is the loop itself, which would wait for itself for ever.
        """
        if not self.is_open:
            raise RuntimeError("This bridge is closed; open a new one.")
        if threading.get_ident() == self._thread.ident:
            raise RuntimeError(
                "The bridge was called from its own event loop, which would wait for itself. "
                "Use the coroutines of `bridge.aio`, or call from another thread."
            )
        return asyncio.run_coroutine_threadsafe(make(*args, **options), self._loop)

    def close(self) -> None:
        """End `main` and the thread. Bounded in time; may be called more than once."""
        if not self.is_open:
            return
        self._closing = True
        self._loop.call_soon_threadsafe(self._stop.set)
        # Garbage collection may close a bridge from its own thread, which cannot wait for itself.
        if threading.get_ident() != self._thread.ident:
            self._thread.join(_CLOSE_SECONDS)

    _closing = False

    def _run(self) -> None:
        anyio.run(self._park, backend="asyncio")

    async def _park(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = anyio.Event()
        await self._main(self._ready.set, self._stop)
