"""Requests over one connection: how they fail, and the health of the connection."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from ...core.calls import PROGRAM, Caller, Host
from ...core.errors import NotAccepted, NotApproved, SourceError
from ...core.json import JsonObject
from .connection import Connection
from .failures import Failures, NotSent, Verdict, is_missing_method, verdict_on
from .messages import is_modern
from .pending import Pending, Request
from .sanitize import raw_of

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
        self, connection: Connection, failures: Failures, on_over: Callable[[], None], host: Host
    ) -> None:
        self.client: Client | None = None
        self.pending = Pending(host)
        self.health = Health(connection, self.pending, on_over)
        self.seconds = connection.settings.call_timeout_seconds
        self._connection = connection
        self._failures = failures

    def connected(self) -> Client:
        """The client, for `ask`.

        Raises:
            NotSent: there is no connection any more.
        """
        if self.health.is_over or self.client is None:
            raise self._failures.of_loss(self._connection, NotSent)
        return self.client

    async def ask(
        self,
        what: str,
        ask: Callable[[], Awaitable[T]],
        seconds: float | None = None,
        caller: Caller = PROGRAM,
        request: Request | None = None,
    ) -> T:
        """Await an answer; anything that goes wrong becomes one of our errors.

        The SDK itself, and code that it runs for a server's odd answer, raises many types: all of
        them mean that this one request failed. The time in which the server waits for a person is
        not counted.

        Raises:
            SourceError: one of its kinds.
            InvalidArguments: the request cannot be JSON.
            NotAccepted, NotApproved: from `ask`.
        """
        started, lines_before = monotonic(), self._connection.stderr.count
        seconds = seconds or self.seconds
        try:
            with self.pending.sent(request or Request(caller.host), seconds):
                return await ask()
        except (NotAccepted, NotApproved):
            raise
        except Exception as cause:  # noqa: BLE001 -- raised below as one of ours
            verdict = verdict_on(cause)
            await self._draw_conclusions(verdict, started)
            error = self._failures.of_request(
                verdict, cause, self._connection, what, seconds, lines_before
            )
        try:
            raise error  # here, where it has no cause: that one has the server's words unmasked
        finally:
            del error  # its traceback has this frame, and so all that a run holds

    async def list_all(
        self, method: str, ask: Callable[..., Awaitable[Any]], field: str, caller: Caller
    ) -> list[Any]:
        """All items of a listing, as they came; none where a server does not have it."""
        list_seconds = self._connection.settings.list_timeout_seconds
        try:
            pages = await self.ask(method, partial(all_pages, ask, field), list_seconds, caller)
        except SourceError as error:
            if is_missing_method(error):
                return []  # some servers have resources but no templates
            raise
        return pages.items

    async def ping(self, seconds: float | None = None, caller: Caller = PROGRAM) -> float:
        """The seconds it takes to answer: to the older era's ping, or by saying again who it is."""
        import mcp_types as types  # as heavy as the SDK, which is loaded by now

        client = self.connected()
        session, era = client.session, client.protocol_version
        if is_modern(era):
            ask = partial(session.send_discover, era)
        else:
            ask = partial(session.send_request, types.PingRequest(), types.EmptyResult)
        started = monotonic()
        await self.ask("ping", ask, seconds, caller)
        return monotonic() - started

    async def _draw_conclusions(self, verdict: Verdict, started: float) -> None:
        match verdict:
            case "lost" | "unsent":
                self.health.end()
                await self._connection.last_words()
            case "broken":
                self.health.suspect()
            case "late":
                self.health.note_silence(started)
            case _:
                pass


@dataclass
class Pages:
    """All items of a listing. `seconds_good` is the shortest time-to-live that a page gave.

    `dropped` are the names of tools that the SDK refused.
    """

    items: list[JsonObject] = field(default_factory=list[JsonObject])
    dropped: list[str] = field(default_factory=list[str])
    seconds_good: float = inf
    note: str = ""


async def all_pages(ask: Callable[..., Awaitable[Any]], name: str) -> Pages:
    """Follow a listing to its end; `name` is the field that holds the items."""
    pages = Pages()
    cursor: str | None = None
    cursors: set[str] = set()
    while len(cursors) < _MAX_PAGES:
        page = await ask(cursor=cursor)
        raw = raw_of(page)
        items = raw.get(name)
        pages.items += items if isinstance(items, list) else []
        if framed := raw.get("framed"):
            pages.dropped += framed.keys() - {x.name for x in page.tools}
        pages.seconds_good = min(pages.seconds_good, (page.ttl_ms or inf) / 1000)
        cursor = page.next_cursor
        if cursor is None:
            return pages
        if cursor in cursors:
            break
        cursors.add(cursor)
    pages.note = f"The listing of {name} never ends; the first {len(pages.items)} are used."
    return pages


class Health:
    """Whether one connection still works, judged by what comes of its requests.

    `over` is set once it is of no more use; `on_over` is called then. It is suspect after a lost
    request, or two that timed out, until the server has answered a probe; only a probe without an
    answer ends it. Whoever waits for the answer has the probe made at once.
    """

    def __init__(
        self, connection: Connection, pending: Pending, on_over: Callable[[], None]
    ) -> None:
        self.over = anyio.Event()
        self._connection = connection
        self._pending = pending
        self._on_over = on_over
        self._doubted = anyio.Event()
        self._is_awaited = anyio.Event()
        self._settled = anyio.Event()
        self._settled.set()
        # Since when nothing came, if a request was in vain; None as long as it answers.
        self._silent_since: float | None = None
        connection.http.on_doubt = self.doubt

    @property
    def is_over(self) -> bool:
        """Whether it is of no more use; noticed here where nobody noticed it before."""
        if self._connection.traffic.ended.is_set():
            self.end()
        return self.over.is_set()

    def end(self) -> None:
        """Declare it of no more use."""
        if not self.over.is_set():
            self.over.set()
            self._connection.traffic.ended.set()
            self._on_over()
            self._settled.set()

    async def end_with_the_stream(self) -> None:
        """Wait for the end of its stream, which ends it."""
        await self._connection.traffic.ended.wait()
        self.end()

    def doubt(self) -> None:
        """Have it probed: a failed request or a broken stream may be the end of the server."""
        self._doubted.set()

    def suspect(self) -> None:
        """Have it probed before the next request, which might be lost too."""
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
            self._connection.in_a_hurry = True
        self.end()

    def note_silence(self, started: float) -> None:
        """Two requests in a row without a sign of life make it suspect; one may just be slow."""
        heard_at = self._connection.traffic.heard_at
        if heard_at > started:
            self._silent_since = None
        elif self._silent_since is None or heard_at > self._silent_since:
            self._silent_since = monotonic()
        elif started >= self._silent_since:
            self.suspect()
