"""Daemon threads for user code that may hang: a thread cannot be stopped, only abandoned."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TypeVar

import anyio

from ..core.errors import SourceFailed

T = TypeVar("T")

_MOST_ABANDONED = 8  # of one source; each holds a stack and its function's objects
_abandoned: dict[str, list[threading.Thread]] = {}  # by source


async def run_in_thread(
    source: str,
    do: Callable[[], T],
    seconds: float,
    wait: Callable[[Future[T]], Awaitable[T]] = asyncio.wrap_future,
) -> T:
    """Return the result of `do` within `seconds`; `wait` may do something else meanwhile.

    It uses a daemon thread: a hanging one must not keep Python from exiting.

    Raises:
        TimeoutError: the function goes on in the background.
        SourceFailed: too many functions of the source go on there; nothing was started.
    """
    running = _abandoned[source] = [x for x in _abandoned.get(source, ()) if x.is_alive()]
    if len(running) >= _MOST_ABANDONED:
        problem = "too many of its earlier calls are still running, although nobody waits for them."
        fix = "Correct what does not end, then run the workflow again in a new process."
        raise SourceFailed(source, problem, fix)
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # a caller that stops waiting does not stop it
    thread = threading.Thread(target=_settle, args=(future, do), name=source, daemon=True)
    thread.start()
    try:
        with anyio.fail_after(seconds):
            return await wait(future)
    finally:
        if not future.done():
            _abandoned[source].append(thread)


def _settle(future: Future[T], do: Callable[[], T]) -> None:
    try:
        future.set_result(do())
    except BaseException as cause:  # noqa: BLE001 - handed to the caller that waits
        is_error = isinstance(cause, Exception)
        future.set_exception(cause if is_error else RuntimeError(repr(cause)))
