"""Authorization of one connection: a token on each request, and a new one when none is good.

The SDK knows how to get one; this decides when. A request with a good token passes at once, beside
all others. Where tokens must be got, one request at a time does it, in all processes, and looks
first whether another one has done so meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

import anyio

from ....core.host import Host
from ....core.sign_in import SignIn
from ....settings.server import ServerSettings
from .errors import AuthFailure
from .sign_in import Clocks, asking
from .token_flow import TokenFlow, in_vain
from .token_store import Access, Record

if TYPE_CHECKING:
    import httpx2

    Flow: TypeAlias = AsyncGenerator[httpx2.Request, httpx2.Response]

# Requests that waited for the same sign-in share its failure; nobody is asked again at once.
_SAME_ANSWER_SECONDS = 10.0
# Took a token that another process got, renewed it, signed in: no request needs more.
_MAX_ROUNDS = 3
_INSUFFICIENT = re.compile(r'\berror="?insufficient_scope\b')


class Authorization:
    """One connection's."""

    def __init__(
        self,
        server: ServerSettings,
        access: Access,
        clocks: Clocks = nullcontext,
        hosts: Callable[[], Sequence[Host]] = tuple,
    ) -> None:
        self.server = server
        self.access = access
        self.clocks = clocks
        self._hosts = hosts
        self.record: Record | None = None
        # Tokens: what the last sign-in here brought, the last renewal; those that were taken.
        self.signed_in = self.renewed = ""
        self.accepted: set[str] = set()
        self.asked_scopes: frozenset[str] = frozenset()  # by that sign-in
        self._lock = anyio.Lock()
        self._failure: tuple[float, AuthFailure] | None = None
        self._is_due = access.is_forced

    def as_httpx_auth(self) -> httpx2.Auth:
        """For the HTTP client of the connection."""
        # Here, because it is only needed once a server is reached by URL.
        import httpx2

        flow = self._flow

        class Auth(httpx2.Auth):
            def async_auth_flow(self, request: httpx2.Request) -> Flow:
                return flow(request)

        return Auth()

    def sign_in(self) -> SignIn | None:
        """How somebody signs in now: as the program says, else whoever waits for the server."""
        host = self.host()
        return asking(host) if host else self.access.sign_in

    def host(self) -> Host | None:
        """Who is asked whether to sign in, where no program was told how to."""
        hosts = [x for x in self._hosts() if not x.why_nobody]
        return hosts[-1] if hosts and self.access.sign_in is None else None

    async def keep(self, record: Record) -> None:
        """Use this from now on, and have it kept; its secrets are hidden from here on."""
        self.server.secrets.update(record.secrets())
        self.record = record
        await self.access.store.write(self.server, record)

    async def latest(self) -> Record:
        """What is kept now, perhaps by another process."""
        found = await self.access.store.read(self.server)
        # Where nothing can be kept, what is in memory counts.
        if found.access_token or self.record is None:
            self.server.secrets.update(found.secrets())
            self.record = found
        return self.record

    @property
    def is_settled(self) -> bool:
        """Whether a request to the server can go at once, with the token there is or with none."""
        record = self.record
        if record is None or self._is_due:
            return False
        return record.is_fresh() or not record.can_be_renewed

    def sign(self, request: httpx2.Request) -> str:
        """Put the token on the request, if there is one that may still be good; which it was."""
        request.headers.pop("authorization", None)
        if self.record is None or not self.record.is_fresh():
            return ""
        request.headers["authorization"] = f"Bearer {self.record.access_token}"
        return self.record.access_token

    def is_wanted_by(self, response: httpx2.Response) -> bool:
        """Whether the server answers that it wants access, or other access than it was shown."""
        if response.status_code == 401:
            challenge = response.headers.get("www-authenticate", "")
            return self.server.auth.use == "yes" or "bearer" in challenge.lower() or self._is_due
        if response.status_code == 403:
            return bool(_INSUFFICIENT.search(response.headers.get("www-authenticate", "")))
        return self._is_due

    def note_taken(self, used: str) -> None:
        """The server has answered to a request with this token."""
        self.accepted.add(used)

    async def _flow(self, request: httpx2.Request) -> Flow:
        if not self._is_for_the_server(request.url):
            yield request
            return
        record = self.record or await self.latest()
        self._is_due = self._is_due and not record.access_token
        used, response = record.access_token, None
        if record.is_fresh() or not record.can_be_renewed:
            used = self.sign(request)
            response = yield request
        for _ in range(_MAX_ROUNDS):
            if response is not None and not self.is_wanted_by(response):
                self.note_taken(used)
                return
            signed_in = await self._get_token(request, response, used)
            used = self.sign(request)
            response = yield request
            if signed_in:
                break
        if response is not None and self.is_wanted_by(response):
            raise in_vain(self.server, response)
        self.note_taken(used)

    async def _get_token(
        self, request: httpx2.Request, refused: httpx2.Response | None, used: str
    ) -> bool:
        """Get another token than the one that was `used`; whether it took a sign-in."""
        from .services import SignInServices  # heavy, and for most servers not needed

        services = SignInServices(self.server, refused)
        if refused is not None:
            await _drop_body(refused)
        try:
            async with self._one_at_a_time(used):
                getting = TokenFlow(self, services, request, refused, used)
                await getting.run()
                return getting.signed_in
        finally:
            await services.close()

    @asynccontextmanager
    async def _one_at_a_time(self, used: str) -> AsyncGenerator[None]:
        """Nobody else gets a token within the block; who waits meanwhile shares its failure."""
        async with self._lock:
            await self._repeat_failure(used)
            try:
                async with self.access.store.locked(self.server):
                    yield
            except AuthFailure as failure:
                self._failure = (monotonic(), failure)
                raise
            self._is_due = False

    async def _repeat_failure(self, used: str) -> None:
        if self._failure and monotonic() - self._failure[0] < _SAME_ANSWER_SECONDS:
            kept = await self.latest()
            if kept.is_fresh() and kept.access_token != used:
                return  # somebody has signed in elsewhere
            failure = self._failure[1]
            # Anew: a raised exception collects the tracebacks of its travels.
            raise AuthFailure(failure.problem, failure.next_step)

    @cached_property
    def _url(self) -> httpx2.URL:
        import httpx2

        return httpx2.URL(self.server.url)

    def _is_for_the_server(self, url: httpx2.URL) -> bool:
        """Whether this is the server's own address; its token goes nowhere else."""
        ours = self._url
        if (url.scheme, url.host, url.port) == (ours.scheme, ours.host, ours.port):
            return True
        # The same host, now encrypted.
        is_upgrade = (ours.scheme, ours.port, url.scheme, url.port) == ("http", None, "https", None)
        return is_upgrade and url.host == ours.host


async def _drop_body(refused: httpx2.Response) -> None:
    """Have nothing read of a refusal but its headers: its body may have no end."""
    import httpx2

    if isinstance(refused.stream, httpx2.AsyncByteStream):
        await refused.stream.aclose()
    refused.stream = httpx2.ByteStream(b"")
    refused.headers.pop("content-encoding", None)
