"""The HTTP client through which every request to one server passes.

A module to be imported when the first server is reached by URL: its libraries are heavy.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import httpx2

from ....settings.server import ServerSettings
from ...web.network_errors import is_this_machine
from ..auth.authorization import Authorization
from ..auth.errors import AuthFailure
from .endpoint import CheckedEndpoint
from .facts import SESSION_HEADER, Connections, HttpFacts, current_request
from .responses import (
    as_the_sdk_can_read_it,
    broken_off,
    gone_wrong,
    note_a_refusal,
    refusal,
    watched,
    without_access,
)
from .retry import RetryPolicy
from .sse import SseStreams

logger = logging.getLogger(__name__)

_HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
# A server that accepts no connection within this is as good as down.
_CONNECT_SECONDS = 10.0
# Most servers close a connection after five idle seconds; a request at that moment would be lost.
_IDLE_SECONDS = 4.0


class DirectClient(httpx2.AsyncClient):
    """An HTTP client with a short way to its `endpoint`. `options` are those of `AsyncClient`.

    Its usual way goes through layers for whatever may come, which is a quarter of all the work for
    a small call. Where those are needed, as for getting access, a message takes the usual way.
    """

    def __init__(
        self,
        endpoint: str,
        authorization: Authorization | None,
        trusted: ssl.SSLContext,
        **options: Any,
    ) -> None:
        auth = authorization.as_httpx_auth(trusted) if authorization else None
        super().__init__(auth=auth, verify=trusted, **options)
        # Taken apart once: for each request anew that is a fifteenth of all the work for a call.
        self.endpoint = httpx2.URL(endpoint)
        self._authorization = authorization
        self._way = self._transport_for_url(self.endpoint)
        same_for_all = httpx2.Headers({**self.headers, **_HEADERS})
        same_for_all.setdefault("host", self.endpoint.netloc.decode())
        self._same_for_all = dict(same_for_all.raw)
        self._limits = {"timeout": self.timeout.as_dict()}

    def message_request(self, content: bytes, headers: Mapping[str, str]) -> httpx2.Request:
        """A request that posts a message, with these headers besides those of all requests."""
        own = {name.lower().encode(): value.encode() for name, value in headers.items()}
        own[b"content-length"] = str(len(content)).encode()
        request = httpx2.Request(
            "POST",
            self.endpoint,
            headers={**self._same_for_all, **own},
            stream=httpx2.ByteStream(content),
            extensions=self._limits,
        )
        if self.cookies:
            self.cookies.set_cookie_header(request)
        return request

    async def send_message(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request of `message_request`; the body of the answer is still to be read.

        Raises:
            RequestError: there is no answer.
            AuthFailure: there is no access.
        """
        if self._has_settled_access and (response := await self._send(request)):
            return response
        return await super().send(request, stream=True, follow_redirects=False)

    @property
    def _has_settled_access(self) -> bool:
        if self._authorization is None:
            return not self.endpoint.userinfo
        return self._authorization.is_settled

    async def _send(self, request: httpx2.Request) -> httpx2.Response | None:
        """The answer; None where the server wants other access, and the message has to go again."""
        access = self._authorization
        token = access.sign(request) if access else ""
        try:
            response = await self._way.handle_async_request(request)
        except httpx2.RequestError as cause:
            cause.request = request
            raise
        response.request = request
        if access and access.is_wanted_by(response):
            await response.aclose()
            return None
        if access:
            access.note_taken(token)
        if "set-cookie" in response.headers:
            self.cookies.extract_cookies(response)
        if response.has_redirect_location:
            with suppress(httpx2.RemoteProtocolError):  # it leads nowhere
                response.next_request = self._build_redirect_request(request, response)
        return response


class ServerClient(DirectClient):
    """Sends the server's headers, and never lets one failure end the connection.

    Reads have no limit of their own: every request has ours, and streams may be silent for long.
    `answers_elsewhere`: answers come on another stream, so a refused request will have none.
    """

    def __init__(
        self,
        settings: ServerSettings,
        facts: HttpFacts,
        trusted: ssl.SSLContext,
        *,
        authorization: Authorization | None = None,
        answers_elsewhere: bool = False,
    ) -> None:
        super().__init__(
            settings.url,
            authorization,
            trusted,
            headers=settings.headers,
            timeout=httpx2.Timeout(_CONNECT_SECONDS, read=None),
            limits=httpx2.Limits(keepalive_expiry=_IDLE_SECONDS),
            # A proxy named in the environment is not asked for a server on this machine.
            trust_env=not is_this_machine(settings.url),
        )
        facts.mask = settings.secrets.redact
        self._settings = settings
        self._facts = facts
        self._answers_elsewhere = answers_elsewhere
        self._standing = SseStreams()
        self.connections = Connections(_IDLE_SECONDS)

    def build_request(self, method: str, url: httpx2.URL | str, **options: Any) -> httpx2.Request:
        """A request, as every one of the SDK is made."""
        target = self.endpoint if url == self._settings.url else url
        return super().build_request(method, target, **options)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request of the SDK; the answer is one that it can read."""
        if (context := current_request()) and (answer := context.answer):
            context.answer = None
            return answer
        ask = partial(self._ask, request, partial(super().send, request, **options))
        if request.method == "GET" and not self._answers_elsewhere:
            return await self._standing.open(ask)
        self._facts.session_id = request.headers.get(SESSION_HEADER, "")
        self.connections.begin()
        try:
            return await ask()
        finally:
            self.connections.end()

    async def post_message(self, content: bytes, headers: Mapping[str, str]) -> httpx2.Response:
        """The answer to a message, as `send` would give it."""
        request = self.message_request(content, headers)
        return await self._ask(request, partial(self.send_message, request))

    async def _ask(
        self, request: httpx2.Request, send: Callable[[], Awaitable[httpx2.Response]]
    ) -> httpx2.Response:
        retry = RetryPolicy(request, self._facts)
        answer: httpx2.Response | None = None
        while answer is None:
            try:
                response = await send()
                answer = await self._read(request, response, retry)
            except Exception as cause:  # noqa: BLE001 - it is told to the one who asked
                answer = await self._instead(request, cause, retry)
        return answer

    async def _read(
        self, request: httpx2.Request, response: httpx2.Response, retry: RetryPolicy
    ) -> httpx2.Response | None:
        """What the SDK gets for this answer; None if the request goes again."""
        self._facts.status, self._facts.failure = response.status_code, ""
        if response.status_code >= 300:
            return await self._refused(request, response, retry)
        if request.method == "GET":
            answer = watched(response, self._facts)
            if self._answers_elsewhere:
                answer.stream = CheckedEndpoint(answer.stream, self._settings.url, self._facts.mask)
            return answer
        if self._answers_elsewhere:
            return response
        return await as_the_sdk_can_read_it(request, response, self._facts)

    async def _refused(
        self, request: httpx2.Request, response: httpx2.Response, retry: RetryPolicy
    ) -> httpx2.Response | None:
        if await retry.outlasts_the_refusal(response):
            return None
        answer = await refusal(request, response, self._facts, retry.remark)
        if self._answers_elsewhere and answer.status_code >= 400:
            note_a_refusal(answer, self._facts)
        return answer

    async def _instead(
        self, request: httpx2.Request, cause: Exception, retry: RetryPolicy
    ) -> httpx2.Response | None:
        """What the SDK gets where there is no answer; None if the request goes again.

        Raises:
            Exception: what went wrong with a stream; the SDK opens it again, or does without.
        """
        if isinstance(cause, AuthFailure):
            return without_access(request, cause, self._facts)
        if isinstance(cause, httpx2.RequestError):
            if await retry.outlasts_the_break(cause):
                return None
            return broken_off(request, cause, self._facts)
        if request.method == "GET":
            raise cause
        # The SDK would end the connection, for all other requests too.
        logger.debug("%s: %r", self._settings.name, cause, exc_info=cause)
        return gone_wrong(request, cause, self._facts)
