"""One event loop in a thread of its own, and the ways to call into it: from threads and loops."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import selectors
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar, cast

import anyio

from ..core.errors import SourceError

T = TypeVar("T")
Main: TypeAlias = Callable[[Callable[[], None], anyio.Event], Awaitable[None]]

_START_SECONDS = 30.0
# On Windows an interrupt is seen only between waits.
_STEP_SECONDS = 1.0
# Sources end within eight seconds; a little more for the loop itself.
_CLOSE_SECONDS = 12.0
# In a notebook an interrupt only marks the cell as cancelled: a sleeping loop sees it at its next
# wake-up.
_BEAT_SECONDS = 1.0

_open_portals: weakref.WeakSet[Portal] = weakref.WeakSet()
_selectors: weakref.WeakSet[selectors.BaseSelector] = weakref.WeakSet()


class Portal:
    """A daemon thread with one event loop. Any thread may call in, except the loop's own.

    `main` runs on the loop while the portal is open. It calls its first argument when it can be
    called itself, and ends when its second, an event, is set. A portal that is still open when
    Python exits is closed then. In a forked child the parent's portal is closed from the start, and
    the parent's stays as it is.
    """

    def __init__(self, main: Main) -> None:
        self._main = main
        self._has_loop = False
        self._started = threading.Event()
        self._closing = False
        self._failure: BaseException | None = None  # of the start
        self._pid = os.getpid()
        self._work = set[asyncio.Task[Any]]()  # of calls
        self._thread = threading.Thread(target=self._run, name="xai-mcp-bridge", daemon=True)
        _open_portals.add(self)
        try:
            self._thread.start()
            if not self._started.wait(_START_SECONDS):
                raise RuntimeError("The bridge's event loop did not start.")
            if self._failure is not None:
                problem = f"The bridge's event loop did not start: {self._failure}"
                raise RuntimeError(problem) from self._failure
        except BaseException:
            self.begin_to_close()  # an interrupt: no caller will get this portal, or close it
            raise

    @property
    def is_open(self) -> bool:
        """Return whether calls can still be made from this process."""
        return self._thread.is_alive() and not self._closing and self._pid == os.getpid()

    def call(self, make: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """Run a coroutine function on the loop and wait for its result.

        An interrupt of the waiting thread cancels it there.

        Raises:
            RuntimeError: as `submit`, or the portal was closed meanwhile.
        """
        self._check_caller()
        call = _Call(self._work, partial(make, *args, **options))
        try:
            self._loop.call_soon_threadsafe(call.start)
            while not call.gate.acquire(timeout=_STEP_SECONDS):
                if not self._thread.is_alive():
                    raise closed_meanwhile()
            error, call.error = call.error, None
        except BaseException as cause:  # an interrupt, or the loop has been closed
            self.post(call.cancel)
            del call  # as below
            if isinstance(cause, RuntimeError):
                raise closed_meanwhile() from None
            raise
        try:
            if error is None:
                return call.results[0]
            # As in `_settle`.
            is_closed = self._closing and isinstance(error, SourceError)
            if is_closed or isinstance(error, asyncio.CancelledError):
                raise closed_meanwhile() from None
            raise error
        finally:
            # An error holds this frame: were the call or the error still in it, they would hold
            # each other, and with them the run of a workflow, until the next garbage collection.
            del call, error

    async def call_async(
        self, make: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any
    ) -> T:
        """Like `call`, for a caller on a loop, which it does not block; even on this loop.

        Cancelling it cancels the call.

        Raises:
            RuntimeError: as `submit`, or the portal was closed meanwhile.
        """
        if self.is_here:
            return await make(*args, **options)
        loop = asyncio.get_running_loop()

        def beat() -> None:
            nonlocal pulse
            pulse = loop.call_later(_BEAT_SECONDS, beat)

        pulse = loop.call_later(_BEAT_SECONDS, beat)
        try:
            return await asyncio.wrap_future(self.submit(make, *args, **options))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # the caller was cancelled, not the call
            raise closed_meanwhile() from None
        finally:
            pulse.cancel()

    def submit(
        self, make: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any
    ) -> concurrent.futures.Future[T]:
        """Start a coroutine function on the loop; cancelling the future cancels it there.

        Raises:
            RuntimeError: the portal is closed, belongs to the parent of a forked process, or the
                caller is the loop itself, which would wait for itself for ever.
        """
        self._check_caller()
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        make = partial(make, *args, **options)
        try:
            self._loop.call_soon_threadsafe(self._start, make, future)
        except BaseException as cause:  # an interrupt, or the loop has been closed
            future.cancel()
            if isinstance(cause, RuntimeError):
                raise closed_meanwhile() from None
            raise
        return future

    def post(self, do: Callable[[], object]) -> None:
        """Schedule a function on the loop, if it still runs."""
        with suppress(RuntimeError):  # it was closed
            self._loop.call_soon_threadsafe(do)

    def close(self) -> None:
        """End `main` and the thread. Bounded in time; may be called more than once."""
        self.begin_to_close()
        # Nothing to wait for in its own thread, in a fork, or if an interrupt came before the
        # thread began.
        if self._thread.is_alive() and not self.is_here and self._pid == os.getpid():
            self._thread.join(_CLOSE_SECONDS)

    def begin_to_close(self) -> None:
        """Request the end without waiting for it."""
        if self.is_open:
            self._closing = True
            if self._has_loop:
                self.post(self._stop.set)

    @property
    def is_here(self) -> bool:
        """Return whether the caller is in the portal's own thread, on its loop."""
        return threading.current_thread() is self._thread

    def _check_caller(self) -> None:
        if not self.is_open:
            raise RuntimeError("This bridge is closed; open a new one.")
        if threading.current_thread() is self._thread:
            raise RuntimeError(
                "The bridge was called from its own event loop, which would wait for itself. "
                "Use the coroutines of `bridge.aio`, or call from another thread."
            )

    def _start(
        self, make: Callable[[], Coroutine[Any, Any, T]], future: concurrent.futures.Future[T]
    ) -> None:
        """Run a coroutine function for a future. Called on the loop."""
        if future.cancelled():
            return
        task = asyncio.ensure_future(_outcome(make))
        self._work.add(task)
        task.add_done_callback(partial(self._settle, future))
        future.add_done_callback(lambda x: x.cancelled() and self.post(task.cancel))

    def _settle(
        self,
        future: concurrent.futures.Future[T],
        task: asyncio.Task[tuple[list[T], BaseException | None]],
    ) -> None:
        self._work.discard(task)
        if task.cancelled():
            future.cancel()
        if not future.set_running_or_notify_cancel():
            return
        results, error = task.result()
        if error is None:
            future.set_result(results[0])
        elif self._closing and isinstance(error, SourceError):
            # The cause of the failure: the advice in its message does not help.
            future.set_exception(closed_meanwhile())
        else:
            future.set_exception(error)

    def _run(self) -> None:
        try:
            anyio.run(self._park, backend="asyncio", backend_options={"loop_factory": _new_loop})
        except BaseException as cause:
            if self._started.is_set():
                raise
            self._failure = cause
            self._started.set()

    async def _park(self) -> None:
        self._stop = anyio.Event()
        self._loop = asyncio.get_running_loop()
        self._has_loop = True
        if not self._closing:
            await self._main(self._started.set, self._stop)
        await self._end_work()

    async def _end_work(self) -> None:
        """Cancel the remaining calls, so that each ends what it has begun.

        The end of the loop would cancel all tasks at once, also those of calls that have not begun,
        and Python would warn that they were never awaited.
        """
        while remaining := [x for x in self._work if not x.done()]:
            for task in remaining:
                task.cancel()
            await asyncio.wait(remaining)


class _Call(Generic[T]):
    """A coroutine on the loop; one thread waits for its end at the `gate`.

    A `concurrent.futures` future would do, but its locks and callbacks, and the extra turn of the
    loop, cost a tool call several percent of its time; anyio's portal takes three times as long.
    """

    def __init__(
        self, work: set[asyncio.Task[Any]], make: Callable[[], Coroutine[Any, Any, T]]
    ) -> None:
        self.gate = threading.Lock()  # held until the call ends
        self.gate.acquire()
        self._work = work  # the set it belongs to while it runs
        self._make = make  # called by `start`, which may never come
        self._task: asyncio.Task[None] | None = None
        self.results: list[T] = []
        self.error: BaseException | None = None

    def start(self) -> None:
        """Run it. Called on the loop."""
        self._task = asyncio.ensure_future(self._run())
        self._work.add(self._task)

    def cancel(self) -> None:
        """Cancel it, if it runs. Called on the loop."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        try:
            self.results.append(await self._make())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self.error = error
        finally:
            if self._task is not None:
                self._work.discard(self._task)
            self.gate.release()


async def _outcome(
    make: Callable[[], Coroutine[Any, Any, T]],
) -> tuple[list[T], BaseException | None]:
    """Return the result in a list, and the error: a task that raises SystemExit ends the loop."""
    try:
        return [await make()], None
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - raised again by the future
        return [], error


def closed_meanwhile() -> RuntimeError:
    """Return the error of a call that was under way when its bridge was closed."""
    return RuntimeError("The bridge was closed before the call was done.")


@atexit.register
def _close_all() -> None:
    """Close all portals when Python exits."""
    portals = list(_open_portals)
    for portal in portals:
        portal.begin_to_close()
    for portal in portals:
        portal.close()


def _new_loop() -> asyncio.AbstractEventLoop:
    """Return a loop of this process's chosen policy, or Python's own."""
    loop = asyncio.new_event_loop()
    if os.name != "posix" or type(loop) is not asyncio.SelectorEventLoop:
        return loop
    loop.close()
    selector = selectors.DefaultSelector()
    _selectors.add(selector)
    return asyncio.SelectorEventLoop(selector)


# A fork inherits the parent's ends of everything the loop watches: pipes to servers, connections,
# and the loop's own selector. Left open there, a server would not see its stdin close when the
# parent ends; and garbage collection in the child would unregister the parent's pipes, because both
# share one selector. So the child replaces its copies with descriptors of /dev/null.


def _replace_inherited_descriptors() -> None:
    """Replace the descriptors in a forked child, so that nothing else gets their numbers."""
    null_device = os.open(os.devnull, os.O_RDWR)
    for selector in list(_selectors):
        for number in _numbers_in(selector):
            os.dup2(null_device, number, inheritable=False)
    os.close(null_device)
    _selectors.clear()


def _numbers_in(selector: selectors.BaseSelector) -> list[int]:
    """Return every descriptor that the selector watches, and its own if it has one."""
    keys = cast("Mapping[Any, selectors.SelectorKey] | None", selector.get_map())
    if keys is None:
        return []  # it was closed
    own = getattr(selector, "fileno", None)
    return [key.fd for key in keys.values()] + ([own()] if own else [])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_replace_inherited_descriptors)
