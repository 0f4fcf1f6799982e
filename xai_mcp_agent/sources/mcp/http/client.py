"""The HTTP client through which every request to one server passes.

A module to be imported when the first server is reached by URL: its libraries are heavy.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import httpx2

from ....settings.models import ServerSettings
from ..auth.authorization import Authorization
from ..auth.errors import AuthFailure, of_the_service
from .answers import (
    as_the_sdk_can_read_it,
    broken_off,
    gone_wrong,
    note_a_refusal,
    refusal,
    watched,
    without_access,
)
from .connections import Connections
from .direct import DirectClient
from .errand import current_errand
from .facts import SESSION_HEADER, HttpFacts
from .patience import Patience
from .reaching import is_this_machine
from .standing import StandingStreams

logger = logging.getLogger(__name__)

# A server that accepts no connection within this is as good as down.
_CONNECT_SECONDS = 10.0
# Most servers close a connection after five idle seconds; a request at that moment would be lost.
_IDLE_SECONDS = 4.0


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
            headers=settings.headers,
            timeout=httpx2.Timeout(_CONNECT_SECONDS, read=None),
            limits=httpx2.Limits(keepalive_expiry=_IDLE_SECONDS),
            verify=trusted,
            # A proxy named in the environment is not asked for a server on this machine.
            trust_env=not is_this_machine(settings.url),
        )
        facts.mask = settings.secrets.mask
        self._settings = settings
        self._facts = facts
        self._answers_elsewhere = answers_elsewhere
        self._standing = StandingStreams()
        self.connections = Connections(_IDLE_SECONDS)

    def build_request(self, method: str, url: httpx2.URL | str, **options: Any) -> httpx2.Request:
        """A request, as every one of the SDK is made."""
        target = self.endpoint if url == self._settings.url else url
        return super().build_request(method, target, **options)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request of the SDK; the answer is one that it can read."""
        if (errand := current_errand()) and (answer := errand.answer):
            errand.answer = None
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
        patience = Patience(request, self._facts)
        answer: httpx2.Response | None = None
        while answer is None:
            try:
                response = await send()
                answer = await self._read(request, response, patience)
            except Exception as cause:  # noqa: BLE001 - it is told to the one who asked
                answer = await self._instead(request, cause, patience)
        return answer

    async def _read(
        self, request: httpx2.Request, response: httpx2.Response, patience: Patience
    ) -> httpx2.Response | None:
        """What the SDK gets for this answer; None if the request goes again."""
        self._facts.status, self._facts.failure = response.status_code, ""
        if response.status_code >= 300:
            return await self._refused(request, response, patience)
        if request.method == "GET":
            return watched(response, self._facts)
        if self._answers_elsewhere:
            return response
        return await as_the_sdk_can_read_it(request, response, self._facts)

    async def _refused(
        self, request: httpx2.Request, response: httpx2.Response, patience: Patience
    ) -> httpx2.Response | None:
        if await patience.outlasts_the_refusal(response):
            return None
        answer = await refusal(request, response, self._facts, patience.remark)
        if self._answers_elsewhere and answer.status_code >= 400:
            note_a_refusal(answer, self._facts)
        return answer

    async def _instead(
        self, request: httpx2.Request, cause: Exception, patience: Patience
    ) -> httpx2.Response | None:
        """What the SDK gets where there is no answer; None if the request goes again.

        Raises:
            Exception: what went wrong with a stream; the SDK opens it again, or does without.
        """
        if failure := _refused_access(cause, request):
            return without_access(request, failure, self._facts)
        if isinstance(cause, httpx2.RequestError):
            if await patience.outlasts_the_break(cause):
                return None
            return broken_off(request, cause, self._facts)
        if request.method == "GET":
            raise cause
        # The SDK would end the connection, for all other requests too.
        logger.debug("%s: %r", self._settings.name, cause, exc_info=cause)
        return gone_wrong(request, cause)


def _refused_access(cause: Exception, request: httpx2.Request) -> AuthFailure | None:
    if isinstance(cause, AuthFailure):
        return cause
    return of_the_service(cause, request) if isinstance(cause, httpx2.RequestError) else None
