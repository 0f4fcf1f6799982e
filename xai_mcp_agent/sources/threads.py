"""Daemon threads for user code that may hang: a thread cannot be stopped, only abandoned."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TypeVar

import anyio

T = TypeVar("T")

# Each holds a stack and its function's objects; more than these mean a problem.
_MAX_ABANDONED = 8


class TooManyThreads(Exception):
    """Too many abandoned threads are still running."""


class Threads:
    """Runner that starts each function in a thread of its own and counts abandoned threads."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._abandoned: set[threading.Thread] = set()

    async def run(
        self,
        do: Callable[[], T],
        seconds: float,
        wait: Callable[[Future[T]], Awaitable[T]] = asyncio.wrap_future,
    ) -> T:
        """Return the result of `do` within `seconds`; `wait` may do something else meanwhile.

        It uses daemon threads: a hanging one must not keep Python from exiting.

        Raises:
            TimeoutError: the function goes on in the background.
            TooManyThreads: nothing was started.
        """
        self._abandoned = {x for x in self._abandoned if x.is_alive()}
        if len(self._abandoned) >= _MAX_ABANDONED:
            raise TooManyThreads
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()  # a caller that stops waiting does not stop it
        thread = threading.Thread(target=_settle, args=(future, do), name=self._name, daemon=True)
        thread.start()
        try:
            with anyio.fail_after(seconds):
                return await wait(future)
        finally:
            if not future.done():
                self._abandoned.add(thread)


def _settle(future: Future[T], do: Callable[[], T]) -> None:
    try:
        future.set_result(do())
    except BaseException as cause:  # noqa: BLE001 - handed to the caller that waits
        is_error = isinstance(cause, Exception)
        future.set_exception(cause if is_error else RuntimeError(repr(cause)))
