"""The door between ordinary threads and the bridge's one event loop."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

import anyio

T = TypeVar("T")
Main: TypeAlias = Callable[[Callable[[], None], anyio.Event], Awaitable[None]]

_START_SECONDS = 30.0
# On Windows an interrupt is seen only between waits.
_STEP_SECONDS = 1.0
# Sources are ended within eight seconds; a little more for the loop itself.
_CLOSE_SECONDS = 12.0

_open_portals: weakref.WeakSet[Portal] = weakref.WeakSet()


class Portal:
    """A daemon thread with one event loop. Any thread may call in; the loop's own may not.

    `main` runs on the loop for as long as the portal is open. It calls the first thing it
    is given when it can be called itself, and ends when the event, the second, is set.
    A portal that is still open when Python exits is closed then.
    """

    def __init__(self, main: Main) -> None:
        self._main = main
        self._started = threading.Event()
        self._closing = False
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._run, name="xai-mcp-bridge", daemon=True)
        self._thread.start()
        if not self._started.wait(_START_SECONDS):
            raise RuntimeError("The bridge's event loop did not start.")
        _open_portals.add(self)

    @property
    def is_open(self) -> bool:
        """Whether calls can still be made from this process."""
        return self._thread.is_alive() and not self._closing and self._pid == os.getpid()

    @property
    def is_here(self) -> bool:
        """Whether the caller is in the portal's own thread, on its loop."""
        return threading.get_ident() == self._thread.ident

    def call(self, make: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """Run a coroutine function on the loop and wait for its result.

        An interrupt of the waiting thread cancels it there.

        Raises:
            RuntimeError: as `submit`, or the portal was closed meanwhile.
        """
        future = self.submit(make, *args, **options)
        try:
            while not future.done():
                # The call's own TimeoutError comes out of the result below.
                with suppress(TimeoutError):
                    future.result(_STEP_SECONDS)
            return future.result()
        except concurrent.futures.CancelledError:
            raise closed_meanwhile() from None
        except BaseException:
            future.cancel()
            raise
        finally:
            # An error holds this frame: were the future still in it, they would hold each other,
            # and with them the run of a workflow, until garbage is collected.
            del future

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
        if self.is_here:
            raise RuntimeError(
                "The bridge was called from its own event loop, which would wait for itself. "
                "Use the coroutines of `bridge.aio`, or call from another thread."
            )
        return asyncio.run_coroutine_threadsafe(make(*args, **options), self._loop)

    def close(self) -> None:
        """End `main` and the thread. Bounded in time; may be called more than once."""
        self.begin_to_close()
        # In its own thread, and in a fork of the process, there is nothing to wait for.
        if not self.is_here and self._pid == os.getpid():
            self._thread.join(_CLOSE_SECONDS)

    def begin_to_close(self) -> None:
        """Ask for the end, and do not wait for it."""
        if self.is_open:
            self._closing = True
            self._loop.call_soon_threadsafe(self._stop.set)

    def _run(self) -> None:
        anyio.run(self._park, backend="asyncio")

    async def _park(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = anyio.Event()
        await self._main(self._started.set, self._stop)


def closed_meanwhile() -> RuntimeError:
    """What a call gets that was under way when its bridge was closed."""
    return RuntimeError("The bridge was closed before the call was done.")


@atexit.register
def _close_all() -> None:
    """Nothing is left running when Python exits."""
    portals = list(_open_portals)
    for portal in portals:
        portal.begin_to_close()
    for portal in portals:
        portal.close()
