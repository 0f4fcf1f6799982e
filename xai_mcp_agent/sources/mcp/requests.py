"""Requests over one connection: how they fail, and the health of the connection."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from ...core.errors import NotAccepted, NotApproved, SourceError
from ...core.host import Host
from ...core.invocation import Caller
from .failures import Failures, NotSent, Verdict, is_missing_method, verdict_on
from .pending import Pending, Waiting
from .transport import Connection
from .wire.streams import is_modern

if TYPE_CHECKING:
    from mcp import Client

logger = logging.getLogger(__name__)

# A paginator that never ends must not hang us; 1,000 pages is more than any real server has.
_MAX_PAGES = 1000
# Long enough for a busy server, short enough that a dead one is noticed soon.
PROBE_SECONDS = 5.0
# A stream that a proxy closes now and then is no reason to ask all the time.
_PROBE_PAUSE_SECONDS = 1.0
_LONGEST_PROBE_PAUSE_SECONDS = 60.0
# A probe takes half of it, unless its clock stands still while a person is asked.
_LONGEST_SUSPICION_SECONDS = 2 * PROBE_SECONDS

T = TypeVar("T")


class Requests:
    """What is asked over one connection. `client` is set by the session that serves it."""

    def __init__(
        self, link: Connection, failures: Failures, on_over: Callable[[], None], host: Host
    ) -> None:
        self.client: Client | None = None
        self.pending = Pending(link.settings, host)
        self.health = Health(link, self.pending, on_over)
        self._link = link
        self._failures = failures
        self._host: Host | None = None

    def made_by(self, caller: Caller) -> Requests:
        """The same, for requests of one caller, whose host answers what the server asks."""
        if caller.host is self._host:
            return self
        requests = copy(self)
        requests._host = caller.host
        return requests

    @property
    def seconds(self) -> float:
        """The limit of one request where nothing else was said."""
        return self._link.settings.call_timeout_seconds

    @property
    def list_seconds(self) -> float:
        """The limit of one listing, with all its pages."""
        return self._link.settings.list_timeout_seconds

    def connected(self) -> Client:
        """The client, for `ask`.

        Raises:
            NotSent: there is no connection any more.
        """
        if self.health.is_over or self.client is None:
            raise self._failures.of_loss(self._link, NotSent)
        return self.client

    async def ask(
        self,
        what: str,
        ask: Callable[[], Awaitable[T]],
        seconds: float,
        notes: list[str] | None = None,
        *,
        may_ask: bool = False,
    ) -> T:
        """Await an answer; anything that goes wrong becomes one of our errors.

        The SDK itself, and code that it runs for a server's odd answer, raises
        many types: all of them mean that this one request failed. The time in which the server
        waits for a person is not counted. `notes` gets what there is to say about the answer. With
        `may_ask` the server may have a question because of it, and so it may have to wait its turn.

        Raises:
            SourceError: one of its kinds.
            InvalidArguments: what should be sent cannot be JSON.
            NotAccepted, NotApproved: from `ask`.
        """
        started, said_before = monotonic(), self._link.stderr.count
        waiting = Waiting(self._host, may_ask, [] if notes is None else notes)
        era = self.client.protocol_version if self.client else ""
        try:
            async with self.pending.one(waiting, seconds, era):
                return await ask()
        except (NotAccepted, NotApproved):
            raise
        except Exception as cause:  # noqa: BLE001 -- raised below as one of ours
            verdict = verdict_on(cause, self._link) if waiting.is_sent else "queued"
            await self._draw_conclusions(verdict, started)
            error = self._failures.of_request(
                verdict, cause, self._link, what, seconds, said_before
            )
        try:
            raise error  # here, where it has no cause: that one has the server's words unmasked
        finally:
            del error  # its traceback has this frame, and so all that a run holds

    async def listed(self, what: str, ask: Callable[..., Awaitable[Any]], field: str) -> list[Any]:
        """All items of a listing that a server need not have."""
        try:
            pages = await self.ask(what, partial(all_pages, ask, field), self.list_seconds)
        except SourceError as error:
            if is_missing_method(error):
                return []  # some servers have resources but no templates
            raise
        return pages.items

    async def ping(self, seconds: float | None = None) -> float:
        """The seconds it takes to answer: to the older era's ping, or by saying again who it is."""
        import mcp_types as types  # as heavy as the SDK, which is loaded by now

        client = self.connected()
        session, era = client.session, client.protocol_version
        if not is_modern(era):
            ask = partial(session.send_request, types.PingRequest(), types.EmptyResult)
        else:
            ask = partial(session.send_discover, era)
        started = monotonic()
        await self.ask("ping", ask, seconds or self.seconds)
        return monotonic() - started

    async def _draw_conclusions(self, verdict: Verdict, started: float) -> None:
        match verdict:
            case "lost" | "unsent":
                self.health.end()
                await self._link.last_words()
            case "broken":
                self.health.suspect()
            case "late":
                self.health.note_silence(started)
            case _:
                pass


@dataclass
class Pages:
    """All items of a listing. `seconds_good` is the shortest time-to-live that a page gave."""

    items: list[Any] = field(default_factory=list[Any])
    seconds_good: float = inf
    note: str = ""


async def all_pages(ask: Callable[..., Awaitable[Any]], name: str) -> Pages:
    """Follow a listing to its end; `name` is the field of a page that holds the items."""
    pages = Pages()
    cursor: str | None = None
    seen: set[str] = set()
    while len(seen) < _MAX_PAGES:
        page = await ask(cursor=cursor)
        pages.items += getattr(page, name)
        pages.seconds_good = min(pages.seconds_good, (page.ttl_ms or inf) / 1000)
        cursor = page.next_cursor
        if cursor is None:
            return pages
        if cursor in seen:
            break
        seen.add(cursor)
    pages.note = f"The listing of {name} never ends; the first {len(pages.items)} are used."
    return pages


class Health:
    """Whether one connection still works, judged by what comes of its requests.

    `over` is set once it is of no more use; `on_over` is told then. It is suspect after a lost
    request, or two that timed out, until the server has answered a probe; only a probe without an
    answer ends it. Whoever waits for the answer has the probe made at once.
    """

    def __init__(self, link: Connection, pending: Pending, on_over: Callable[[], None]) -> None:
        self.over = anyio.Event()
        self._link = link
        self._pending = pending
        self._on_over = on_over
        self._doubted = anyio.Event()
        self._is_awaited = anyio.Event()
        self._settled = anyio.Event()
        self._settled.set()
        # Since when nothing came, if a request was in vain; None as long as it answers.
        self._silent_since: float | None = None
        link.http.on_doubt = self.doubt

    @property
    def is_over(self) -> bool:
        """Whether it is of no more use; noticed here where nobody noticed it before."""
        if self._link.watch.ended.is_set():
            self.end()
        return self.over.is_set()

    def end(self) -> None:
        """It is of no more use."""
        if not self.over.is_set():
            self.over.set()
            self._link.watch.ended.set()
            self._on_over()
            self._settled.set()

    async def end_with_the_stream(self) -> None:
        """Wait for the end of its stream, which ends it."""
        await self._link.watch.ended.wait()
        self.end()

    def doubt(self) -> None:
        """A failed request or a broken stream may be an accident, or the end of the server."""
        self._doubted.set()

    def suspect(self) -> None:
        """A request was lost, or the server is silent: the next request might be lost too."""
        self.doubt()
        if self._settled.is_set() and not self.over.is_set():
            self._settled = anyio.Event()

    @property
    def is_suspect(self) -> bool:
        """Whether it is not known yet if the server is still there."""
        return not self._settled.is_set()

    async def settled(self) -> None:
        """Wait until that is known, though not for ever."""
        if self.is_suspect:
            self._is_awaited.set()
            with anyio.move_on_after(_LONGEST_SUSPICION_SECONDS):
                await self._settled.wait()

    async def probe_when_in_doubt(self, ask: Callable[[], Awaitable[None]]) -> None:
        """After each doubt `ask` the server something; one that does not answer is over."""
        pause = _PROBE_PAUSE_SECONDS
        while True:
            with anyio.move_on_after(_LONGEST_PROBE_PAUSE_SECONDS) as calm:
                await self._doubted.wait()
            if calm.cancelled_caught:
                pause = _PROBE_PAUSE_SECONDS
                continue
            await self._probe(ask)
            if not self._doubted.is_set():  # nothing was lost meanwhile
                self._settled.set()
                self._is_awaited = anyio.Event()
            with anyio.move_on_after(pause):
                await self._is_awaited.wait()
            pause = min(pause * 2, _LONGEST_PROBE_PAUSE_SECONDS)

    async def _probe(self, ask: Callable[[], Awaitable[None]]) -> None:
        """Ask twice if need be: the first time may go over a connection that is dead already."""
        try:
            with self._pending.limit(PROBE_SECONDS):
                for _ in range(2):
                    self._doubted = anyio.Event()
                    try:
                        await ask()
                    except SourceError as cause:
                        logger.debug("%s", cause)
                    else:
                        return
        except TimeoutError:
            # It would not notice that its stdin closes either.
            self._link.stdio.in_a_hurry = True
        self.end()

    def note_silence(self, started: float) -> None:
        """Two requests in a row without a sign of life make it suspect; one may just be slow."""
        if self._link.watch.heard_at > started:
            self._silent_since = None
        elif self._silent_since is None or self._link.watch.heard_at > self._silent_since:
            self._silent_since = monotonic()
        elif started >= self._silent_since:
            self.suspect()
