"""OAuth on the requests to one server: a token on each, and a new one when needed.

The SDK's provider holds its lock while a request is under way (python-sdk#2847, #3209, #3382), so
one slow call holds up all others. Here a request with a good token passes at once. To get a token,
one request at a time runs the flow, across all processes, and first checks whether another one has
already got it.

Imported when the first server behind a URL is reached, because its libraries are heavy.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from time import monotonic
from typing import TypeAlias

import anyio
import httpx2
from mcp.client.auth.utils import extract_field_from_www_auth

from ....core.calls import Host
from ....settings.server import ServerSettings
from ...web.origins import is_same_host
from . import errors
from .flow import TokenFlow, places_around, scopes_in
from .sign_in import PauseClocks, Person
from .token_store import Access, Record

Flow: TypeAlias = AsyncGenerator[httpx2.Request, httpx2.Response]

# Requests that waited for the same sign-in share its failure; the person is not asked again at
# once.
_SAME_FAILURE_SECONDS = 10.0
# One round each to take another process's token, to renew it, and to sign in.
_MAX_ROUNDS = 3


class ServerAuth(httpx2.Auth):
    """Access to one server over one connection.

    `pause_clocks` stops the limits while a person signs in; one of the `hosts` asks them.
    """

    def __init__(
        self,
        server: ServerSettings,
        access: Access,
        pause_clocks: PauseClocks,
        hosts: Callable[[], Sequence[Host]],
    ) -> None:
        self._server = server
        self._store = access.store
        self._person = Person(server, access.sign_in, hosts, pause_clocks)
        self._must_sign_in = access.is_forced
        self._record: Record | None = None
        # Tokens obtained here that the server has not accepted yet.
        self._signed_in = self._renewed = ""
        self._scopes: frozenset[str] | None = None  # of the last sign-in here
        self._lock = anyio.Lock()
        self._failure: tuple[float, errors.AuthFailure] | None = None

    async def async_auth_flow(self, request: httpx2.Request) -> Flow:
        """Send a request with a token, and again with a new one after a refusal.

        Raises:
            AuthFailure: there is no access.
        """
        if not is_same_host(self._server.url, str(request.url)):
            yield request  # the token goes nowhere else
            return
        record = self._record or await self._load_record()
        self._must_sign_in = self._must_sign_in and not record.access_token
        token, response = record.access_token, None
        if record.is_fresh() or not record.can_be_renewed:
            token = self._sign(request)
            response = yield request
        rounds = 0
        while response is None or self._is_refused(response):
            if response is not None and rounds >= _MAX_ROUNDS:
                raise self._rejection(response)
            has_signed_in = await self._get_token(request, response, token)
            rounds = _MAX_ROUNDS if has_signed_in else rounds + 1
            request.headers.pop("authorization", None)
            token = self._sign(request)
            response = yield request
        if token == self._signed_in:
            self._signed_in = ""
        if token == self._renewed:
            self._renewed = ""

    def _sign(self, request: httpx2.Request) -> str:
        """Add the stored token to a request if it may still be valid, and return it."""
        if self._record is None or not self._record.is_fresh():
            return ""
        request.headers["authorization"] = f"Bearer {self._record.access_token}"
        return self._record.access_token

    def _is_refused(self, response: httpx2.Response) -> bool:
        """Return whether the response asks for a token or for more scopes."""
        if response.status_code == 401:
            challenge = response.headers.get("www-authenticate", "").lower()
            return self._server.auth.use == "yes" or "bearer" in challenge or self._must_sign_in
        if response.status_code == 403:
            return extract_field_from_www_auth(response, "error") == "insufficient_scope"
        return self._must_sign_in

    def _rejection(self, refusal: httpx2.Response) -> errors.AuthFailure:
        scopes = " ".join(sorted(scopes_in(refusal)))
        return errors.rejected_token_error(self._server, refusal.status_code, scopes)

    async def _get_token(
        self, request: httpx2.Request, refusal: httpx2.Response | None, last_token: str
    ) -> bool:
        """Get a token other than `last_token`, and return whether it took a sign-in."""
        places = places_around(self._server, refusal)
        if refusal is not None:
            await _drop_body(refusal)
        async with self._lock, self._store.lock(self._server):
            record = await self._load_record()
            if record.is_fresh() and record.access_token != last_token:
                self._must_sign_in = False  # another request or process was faster
                return False
            if self._failure and monotonic() - self._failure[0] < _SAME_FAILURE_SECONDS:
                failure = self._failure[1]
                # A new exception, because the old one collects a traceback each time it is raised.
                raise errors.AuthFailure(failure.problem, failure.next_step)
            try:
                has_signed_in = await self._run(TokenFlow(
                    self._server, record, self._save, self._person, places,
                ), request, refusal, last_token)  # fmt: skip
            except errors.AuthFailure as failure:
                self._failure = (monotonic(), failure)
                raise
            self._must_sign_in = False
            return has_signed_in

    async def _run(
        self,
        flow: TokenFlow,
        request: httpx2.Request,
        refusal: httpx2.Response | None,
        last_token: str,
    ) -> bool:
        status = refusal.status_code if refusal is not None else None
        if refusal is not None:
            had_scopes = self._scopes is not None and scopes_in(refusal) <= self._scopes
            if (status == 401 and last_token and last_token == self._signed_in) or (
                status == 403 and had_scopes
            ):
                raise self._rejection(refusal)
        is_worth_renewing = status in (None, 401) and not (
            last_token and last_token == self._renewed
        )
        has_signed_in = await flow.run(request, refusal, may_renew=is_worth_renewing)
        if has_signed_in:
            self._scopes = flow.scopes
        return has_signed_in

    async def _load_record(self) -> Record:
        """Return the stored record, which another process may have written."""
        record = await self._store.read(self._server)
        # If nothing can be stored, the record in memory counts.
        if record.access_token or self._record is None:
            self._server.secrets.update(record.secrets())
            self._record = record
        return self._record

    async def _save(self, record: Record, is_renewal: bool) -> None:
        """Use and store a record, and have its secrets redacted from now on."""
        self._server.secrets.update(record.secrets())
        if is_renewal:
            self._renewed = record.access_token
        else:
            self._signed_in = record.access_token
        self._record = record
        await self._store.write(self._server, record)


async def _drop_body(refusal: httpx2.Response) -> None:
    """Drop a refusal's body unread, because it may have no end."""
    if isinstance(refusal.stream, httpx2.AsyncByteStream):
        await refusal.stream.aclose()
    refusal.stream = httpx2.ByteStream(b"")
    refusal.headers.pop("content-encoding", None)
