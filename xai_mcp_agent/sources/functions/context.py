"""A call of a function: its progress, its cancellation, and its waiting caller."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import TypeAlias

from ...core.results import ToolResult
from ..progress import ProgressListener

_PAUSE_SECONDS = 0.05  # between two reports of progress

Step: TypeAlias = tuple[float, float | None, str]
"""Progress of a call: done, total (or None), and text."""


class CallCancelled(BaseException):
    """No caller waits for this call any more: it was cancelled or timed out.

    It is not an `Exception`, so that error handlers do not keep a function from ending.
    """


class RunningCall:
    """One call: its progress, and whether a caller still waits. Any thread may use it.

    The caller waits on `loop`; without one, nobody reads the progress.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._news = asyncio.Event()
        self._latest: Step | None = None
        self._stops: list[Callable[[], None]] = []
        self.is_over = False

    def tell(self, step: Step) -> None:
        """Store the progress; it replaces a step that was not reported yet."""
        with self._lock:
            is_waiting, self._latest = self._latest is not None, step
            if self._loop is not None and not (is_waiting or self.is_over):
                with suppress(RuntimeError):  # the loop is closed: nobody waits
                    self._loop.call_soon_threadsafe(self._news.set)

    async def watch(
        self, listener: ProgressListener | None, future: Future[ToolResult]
    ) -> ToolResult:
        """Wait for the result, and report progress meanwhile."""
        waiting = asyncio.wrap_future(future)
        waiting.add_done_callback(lambda _: self._news.set())
        try:
            while not waiting.done():
                await self._news.wait()
                self._news.clear()
                await self._report(listener)
                await asyncio.wait([waiting], timeout=_PAUSE_SECONDS)
            await self._report(listener)
            return await waiting
        finally:
            waiting.cancel()

    async def _report(self, listener: ProgressListener | None) -> None:
        with self._lock:
            step, self._latest = self._latest, None
        if step is not None and listener is not None:
            await listener.report(*step)

    def end(self) -> None:
        """Mark the call as abandoned, and call the functions of `on_end`."""
        with self._lock:
            self.is_over = True
            for stop in self._stops:
                stop()
            self._stops.clear()

    @contextmanager
    def on_end(self, stop: Callable[[], None]) -> Generator[None]:
        """Call `stop` if the call ends inside the block, in the thread that ends it."""
        with self._lock:
            self._stops.append(stop)
            if self.is_over:
                stop()
        try:
            yield
        finally:
            with self._lock:  # not while `end` calls it
                if stop in self._stops:
                    self._stops.remove(stop)


class ToolContext:
    """The call that a function is in; a parameter with this annotation gets it.

    Models do not see that parameter. It may be used in other threads, and after the call has
    ended. `ToolContext()` belongs to no call, for tests.
    """

    def __init__(self, call: RunningCall | None = None) -> None:
        self._call = call or RunningCall()

    @property
    def is_cancelled(self) -> bool:
        """Whether no caller waits any more: the call was cancelled, has ended, or timed out."""
        return self._call.is_over

    def check(self) -> None:
        """Raise if no caller waits any more. A long function calls it now and then.

        Raises:
            CallCancelled: no caller waits. It is not an `Exception`; let it pass.
        """
        if self.is_cancelled:
            raise CallCancelled("the caller has stopped waiting for this call")

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report how far the call is: `done` of `total`, if that is known.

        It may be called often: only the last one counts of reports that come faster than a screen
        can show them. After the call it does nothing.

        Raises:
            ValueError: a number is not finite.
        """
        numbers = [float(done), *([] if total is None else [float(total)])]
        if not all(map(math.isfinite, numbers)):
            raise ValueError("`done` and `total` of progress must be finite numbers")
        self._call.tell((numbers[0], numbers[1] if total is not None else None, str(message)))
