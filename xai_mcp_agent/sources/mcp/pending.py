"""The requests of one connection that wait for their answers, and whom the server asks meanwhile.

While it waits for a person, the clocks of all requests stand still: where nothing tells which
request it asks for, it may also be doing one thing at a time.

On 2026-07-28 a question is part of the answer to a request. In the older era it is a message of its
own; over Streamable HTTP it comes on the stream of the request it belongs to, else nothing says
whose it is, and the first caller who can be asked is.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf

import anyio

from ...core.calls import Host


class Clock:
    """A limit, as a scope that is cancelled when it is over; the scope's deadline may be moved."""

    def __init__(self, seconds: float) -> None:
        self.scope = anyio.CancelScope(deadline=anyio.current_time() + seconds)
        self._left = inf

    def pause(self) -> None:
        """Stop the clock."""
        self._left = self.scope.deadline - anyio.current_time()
        self.scope.deadline = inf

    def resume(self) -> None:
        """Let the clock go on, unless another limit was set meanwhile."""
        if self.scope.deadline == inf:
            self.scope.deadline = anyio.current_time() + self._left


@dataclass(eq=False)
class Request:
    """A request on its way, of a caller with this host; the server may ask something because of it.

    `notes` gets remarks on the answer; `samples` counts how often the server had a model asked.
    """

    host: Host | None = None
    may_ask: bool = False
    notes: list[str] = field(default_factory=list[str])
    samples: int = 0


_current: ContextVar[Request | None] = ContextVar("request", default=None)


class Pending:
    """The requests of one connection. `host` answers for callers who have none of their own."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._requests: dict[Request, None] = {}  # the one that began last is the last
        self._clocks: dict[Clock, None] = {}  # theirs, and those of other limits
        self._pauses = 0
        self._all_done = anyio.Event()

    @contextmanager
    def sent(self, request: Request, seconds: float) -> Generator[None]:
        """Have a request wait for its answer, as long as this at most.

        Raises:
            TimeoutError: its time ran out.
        """
        token = _current.set(request)
        self._requests[request] = None
        try:
            with self.limit(seconds):
                yield
        finally:
            _current.reset(token)
            del self._requests[request]
            if not self._requests:
                self._all_done.set()

    @contextmanager
    def limit(self, seconds: float) -> Generator[anyio.CancelScope]:
        """Limit a block; the clock stands still while a person is asked.

        Raises:
            TimeoutError: its time ran out.
        """
        clock = Clock(seconds)
        self._clocks[clock] = None
        if self._pauses:
            clock.pause()
        try:
            with clock.scope:
                yield clock.scope
        finally:
            del self._clocks[clock]
        if clock.scope.cancelled_caught:
            raise TimeoutError

    @contextmanager
    def paused(self) -> Generator[None]:
        """Stop all clocks within the block."""
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

    def asking(self) -> list[Request]:
        """The requests because of which the server may be asking."""
        current = _current.get()
        if current in self._requests:
            return [current]  # this runs in its context
        return [x for x in self._requests if x.may_ask] or list(self._requests)

    def hosts(self) -> list[Host]:
        """The hosts of those, each once."""
        return list(dict.fromkeys(x.host for x in self.asking() if x.host is not None))

    def asker(self) -> Host:
        """Who answers what the server asks now."""
        hosts = self.hosts()
        return next((x for x in hosts if not x.why_nobody), hosts[0] if hosts else self._host)

    def note(self, text: str) -> None:
        """Add a remark on each of those."""
        for request in self.asking():
            if text not in request.notes:
                request.notes.append(text)

    async def none(self, seconds: float) -> None:
        """Wait until there are none, or for so long."""
        self._all_done = anyio.Event()
        with anyio.move_on_after(seconds):
            if self._requests:
                await self._all_done.wait()
