"""Daemon threads for user code that may hang: a thread cannot be stopped, only abandoned."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TypeVar

import anyio

T = TypeVar("T")


async def run_in_thread(
    do: Callable[[], T],
    seconds: float,
    wait: Callable[[Future[T]], Awaitable[T]] = asyncio.wrap_future,
) -> T:
    """Return the result of `do` within `seconds`; `wait` may do something else meanwhile.

    It uses a daemon thread: a hanging one must not keep Python from exiting.

    Raises:
        TimeoutError: the function goes on in the background.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # a caller that stops waiting does not stop it
    threading.Thread(target=_settle, args=(future, do), name="user code", daemon=True).start()
    with anyio.fail_after(seconds):
        return await wait(future)


def _settle(future: Future[T], do: Callable[[], T]) -> None:
    try:
        future.set_result(do())
    except BaseException as cause:  # noqa: BLE001 - handed to the caller that waits
        is_error = isinstance(cause, Exception)
        future.set_exception(cause if is_error else RuntimeError(repr(cause)))
