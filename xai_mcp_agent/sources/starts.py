"""Which sources start next: not all at once, and those first that somebody waits for.

A process that starts takes a second of a core. Where many start together each is ready as late as
the last one, and may miss its limit; one after the other the first can be used at once.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import anyio

# Three for each core: a start is also waiting, for the disk and for us.
_FOR_EACH_CORE = 3
# One that takes longer, such as a download on first use, is no reason for others to wait.
_SLOW_SECONDS = 3.0


class StartQueue:
    """The starts of all sources of one bridge. Used on its event loop."""

    def __init__(self) -> None:
        self._most = _FOR_EACH_CORE * (os.cpu_count() or 1)
        self._waiting: dict[Start, None] = {}
        self._under_way: set[Start] = set()

    def add(self, start: Start) -> None:
        """It wants its turn."""
        self._waiting[start] = None
        self._let_in()

    def remove(self, start: Start) -> None:
        """It needs no turn any more."""
        self._waiting.pop(start, None)
        self._under_way.discard(start)
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and len(self._under_way) < self._most:
            wanted = (x for x in self._waiting if x.is_wanted())
            start = next(wanted, next(iter(self._waiting)))
            del self._waiting[start]
            self._under_way.add(start)
            start.may_go.set()
            start.limit = asyncio.get_running_loop().call_later(_SLOW_SECONDS, start.end)


class Start:
    """One start of a source; `is_wanted` says whether somebody waits for it by now."""

    def __init__(self, queue: StartQueue, is_wanted: Callable[[], bool]) -> None:
        self.is_wanted = is_wanted
        self.may_go = anyio.Event()
        self.limit: asyncio.TimerHandle | None = None
        self._queue = queue

    async def turn(self) -> None:
        """Wait until it may go, or until its `end`."""
        self._queue.add(self)
        try:
            await self.may_go.wait()
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """It has started, or failed, or is not to start at all."""
        if self.limit is not None:
            self.limit.cancel()
        self._queue.remove(self)
        self.may_go.set()
