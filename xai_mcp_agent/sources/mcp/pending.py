"""Requests that wait for their answers over one connection: for whom, and how long yet.

While the server waits for a person, the clocks of all of them stand still: over stdio nothing
tells which request it asks for, and a server may do one thing at a time.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf

import anyio

from ..host import Host, caller


class Clock:
    """A limit, as a scope that is cancelled when it is over; the scope's deadline may be moved."""

    def __init__(self, seconds: float) -> None:
        self.scope = anyio.CancelScope(deadline=anyio.current_time() + seconds)
        self._left = inf

    def pause(self) -> None:
        """Stop its clock."""
        self._left = self.scope.deadline - anyio.current_time()
        self.scope.deadline = inf

    def resume(self) -> None:
        """Let its clock go on, unless another limit was set meanwhile."""
        if self.scope.deadline == inf:
            self.scope.deadline = anyio.current_time() + self._left


class Waiting(Clock):
    """One request. `notes` is what there is to say about how it was answered."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.host = caller()
        self.notes: list[str] = []
        self.samples = 0  # how often a model was asked because of it


_current: ContextVar[Waiting | None] = ContextVar("request", default=None)


class Pending:
    """All of one connection."""

    def __init__(self) -> None:
        self._waiting: dict[Waiting, None] = {}  # the one that began last is the last
        self._clocks: dict[Clock, None] = {}  # theirs, and those of other limits
        self._pauses = 0
        self._all_done = anyio.Event()

    @contextmanager
    def one(self, seconds: float) -> Generator[Waiting]:
        """A request that is given so long.

        Raises:
            TimeoutError: its time ran out.
        """
        waiting = Waiting(seconds)
        self._waiting[waiting] = None
        token = _current.set(waiting)
        try:
            with self._runs(waiting):
                yield waiting
        finally:
            _current.reset(token)
            del self._waiting[waiting]
            if not self._waiting:
                self._all_done.set()

    @contextmanager
    def limit(self, seconds: float) -> Generator[anyio.CancelScope]:
        """A limit for something else than a request, whose clock stands still when theirs do.

        Raises:
            TimeoutError: its time ran out.
        """
        clock = Clock(seconds)
        with self._runs(clock):
            yield clock.scope

    @contextmanager
    def _runs(self, clock: Clock) -> Generator[None]:
        self._clocks[clock] = None
        if self._pauses:
            clock.pause()
        try:
            with clock.scope:
                yield
        finally:
            del self._clocks[clock]
        if clock.scope.cancelled_caught:
            raise TimeoutError

    @contextmanager
    def paused(self) -> Generator[None]:
        """No time passes for any of them within the block."""
        self._pauses += 1
        if self._pauses == 1:
            for clock in self._clocks:
                clock.pause()
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                for clock in self._clocks:
                    clock.resume()

    def asking(self) -> list[Waiting]:
        """Those because of which the server may be asking, the one that began last at the end.

        On 2026-07-28 that is known: the task that made the request asks for its server.
        """
        current = _current.get()
        return [current] if current in self._waiting else list(self._waiting)

    def hosts(self) -> list[Host]:
        """Who made those, each once."""
        return list(dict.fromkeys(x.host for x in self.asking() if x.host is not None))

    def note(self, text: str) -> None:
        """Something to say about each of those."""
        for waiting in self.asking():
            if text not in waiting.notes:
                waiting.notes.append(text)

    async def none(self, seconds: float) -> None:
        """Wait until there are none, or for so long."""
        self._all_done = anyio.Event()
        with anyio.move_on_after(seconds):
            if self._waiting:
                await self._all_done.wait()
