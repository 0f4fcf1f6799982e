"""Daemon threads for a person's code, which may hang: a thread cannot be stopped, only left."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TypeVar

import anyio

T = TypeVar("T")

# Each holds a stack and whatever its function has made; more of them, and something is wrong.
_MAX_LEFT = 8


class TooManyLeft(Exception):
    """Too many threads that were left are still running."""


class Threads:
    """Runs functions, each in a thread of its own, and counts those that were left."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._left: set[threading.Thread] = set()

    async def run(
        self,
        do: Callable[[], T],
        seconds: float,
        wait: Callable[[Future[T]], Awaitable[T]] = asyncio.wrap_future,
    ) -> T:
        """Wait for what `do` gives, so long; with `wait`, which may do something meanwhile.

        Daemon threads: one that hangs must not keep Python from ending.

        Raises:
            TimeoutError: it goes on in the background.
            TooManyLeft: nothing was begun.
        """
        self._left = {x for x in self._left if x.is_alive()}
        if len(self._left) >= _MAX_LEFT:
            raise TooManyLeft
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()  # who stops waiting does not stop it
        thread = threading.Thread(target=_settle, args=(future, do), name=self._name, daemon=True)
        thread.start()
        try:
            with anyio.fail_after(seconds):
                return await wait(future)
        finally:
            if not future.done():
                self._left.add(thread)


def _settle(future: Future[T], do: Callable[[], T]) -> None:
    try:
        future.set_result(do())
    except BaseException as cause:  # noqa: BLE001 - whoever waits is told, and nobody is ended by it
        is_error = isinstance(cause, Exception)
        future.set_exception(cause if is_error else RuntimeError(repr(cause)))
