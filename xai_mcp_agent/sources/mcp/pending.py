"""The requests of one connection that wait for their answers, and whom the server asks meanwhile.

While it waits for a person, the clocks of all requests stand still: where nothing tells which
request it asks for, it may also be doing one thing at a time.

On 2026-07-28 a question is part of the answer to a request. In the older era it is a message of its
own. Over Streamable HTTP it comes on the stream of the request it belongs to, if the server does as
the protocol wants; otherwise nothing says whose it is. There the requests of one caller at a time
are with the server.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf

import anyio

from ...core.host import Host
from ...settings.server import ServerSettings
from .wire.streams import is_modern

WHOSE_IS_IT = (
    "several callers wait for this server, and it does not say whose call its question belongs to. "
    "From now on it gets their calls one after the other: try again"
)


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


@dataclass(eq=False)
class Waiting:
    """One request. `host` is that of whoever makes it, `notes` what there is to say about it.

    `may_ask`: the server may ask something because of it. `samples` is how often it had a model
    asked.
    """

    host: Host | None
    may_ask: bool
    notes: list[str]
    is_sent: bool = False
    samples: int = 0


_current: ContextVar[Waiting | None] = ContextVar("request", default=None)


class Pending:
    """The requests of one connection; `host` answers for who has none of their own."""

    def __init__(self, settings: ServerSettings, host: Host) -> None:
        self._settings = settings
        self._host = host
        self._waiting: dict[Waiting, None] = {}  # the one that began last is the last
        self._clocks: dict[Clock, None] = {}  # theirs, and those of other limits
        self._pauses = 0
        self._all_done = anyio.Event()
        self._turns = Turns()
        self._says_whose = settings.transport == "http"

    @asynccontextmanager
    async def one(self, waiting: Waiting, seconds: float, era: str) -> AsyncGenerator[None]:
        """A request of this era that is given so long, from when it waits its turn on.

        Raises:
            TimeoutError: its time ran out.
        """
        turn = nullcontext()
        if waiting.may_ask and self._needs_turns(era):
            turn = self._turns.of(self._answerer(waiting.host), is_nested=self._pauses > 0)
        with self.limit(seconds):
            async with turn:
                with self._sent(waiting):
                    yield

    @contextmanager
    def _sent(self, waiting: Waiting) -> Generator[None]:
        self._waiting[waiting] = None
        waiting.is_sent = True
        token = _current.set(waiting)
        try:
            yield
        finally:
            _current.reset(token)
            del self._waiting[waiting]
            if not self._waiting:
                self._all_done.set()

    def _needs_turns(self, era: str) -> bool:
        """Whether a question could reach a wrong caller."""
        lends = self._settings.sampling == "allow"
        can_ask = lends or self._settings.elicitation == "ask"
        return can_ask and not self._says_whose and not is_modern(era)

    def _answerer(self, host: Host | None) -> Host | None:
        """Who would be asked; None for all those for whom nobody would."""
        host = host or self._host
        return host if self._settings.sampling == "allow" or not host.why_nobody else None

    @contextmanager
    def limit(self, seconds: float) -> Generator[anyio.CancelScope]:
        """A limit, whose clock stands still while a person is asked.

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

        Where that is known, this runs in the context of the one.
        """
        current = _current.get()
        if current in self._waiting:
            return [current]
        return [x for x in self._waiting if x.may_ask] or list(self._waiting)

    def hosts(self) -> list[Host]:
        """Who made those, each once."""
        return list(dict.fromkeys(x.host for x in self.asking() if x.host is not None))

    def asker(self) -> Host | None:
        """Who answers what the server asks now; None where it may mean any of several callers."""
        asking = self.asking()
        if not asking:
            return self._host
        if _current.get() not in self._waiting:
            self._says_whose = False  # from now on they take turns
        is_clear = len({self._answerer(x.host) for x in asking}) == 1
        return (asking[-1].host or self._host) if is_clear else None

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


class Turns:
    """Lets the requests of one caller at a time through, those that came first before others."""

    def __init__(self) -> None:
        self._caller: object = None
        self._inside = 0
        self._queue: deque[tuple[object, anyio.Event]] = deque()

    @asynccontextmanager
    async def of(self, caller: object, *, is_nested: bool) -> AsyncGenerator[None]:
        """A turn of this caller. `is_nested`: another request of theirs may be waiting for it."""
        await self._enter(caller, is_nested)
        try:
            yield
        finally:
            self._leave()

    async def _enter(self, caller: object, is_nested: bool) -> None:
        place = caller, anyio.Event()
        if is_nested and self._inside and caller is self._caller:
            self._queue.appendleft(place)
        else:
            self._queue.append(place)
        self._let_in()
        try:
            await place[1].wait()
        except BaseException:
            if place[1].is_set():
                self._leave()
            else:
                self._queue.remove(place)
                self._let_in()
            raise

    def _leave(self) -> None:
        self._inside -= 1
        self._let_in()

    def _let_in(self) -> None:
        """All that may go now, from the head of the queue on."""
        while self._queue and (not self._inside or self._queue[0][0] is self._caller):
            self._caller, may_go = self._queue.popleft()
            self._inside += 1
            may_go.set()
