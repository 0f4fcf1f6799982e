"""The HTTP client through which every request to one server passes."""

from __future__ import annotations

import logging
import os
import ssl
from functools import cache, partial
from typing import TYPE_CHECKING, Any

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
from .facts import HttpFacts
from .patience import Patience
from .reaching import is_this_machine
from .standing import StandingStreams

if TYPE_CHECKING:
    import httpx2

logger = logging.getLogger(__name__)

# A server that accepts no connection within this is as good as down.
_CONNECT_SECONDS = 10.0
# Most servers close a connection after five idle seconds; a request at that moment would be lost.
_IDLE_SECONDS = 4.0


def trusted_certificates() -> ssl.SSLContext:
    """Whose certificates are trusted: those of this machine, or what `SSL_CERT_FILE` names.

    Raises:
        OSError: the file or folder that the environment names cannot be read.
    """
    return _trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _trusted(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """Shared, because loading it takes a twentieth of a second."""
    import httpx2

    return httpx2.create_ssl_context()


def http_client(
    settings: ServerSettings,
    facts: HttpFacts,
    trusted: ssl.SSLContext,
    *,
    authorization: Authorization | None = None,
    answers_elsewhere: bool = False,
) -> httpx2.AsyncClient:
    """A client that sends the server's headers and never lets one failure end the connection.

    Reads have no limit of their own: every request has ours, and streams may be silent for long.
    `answers_elsewhere`: answers come on another stream, so a refused request will have none.
    """
    # Here, because it is only needed once a server is reached by URL.
    import httpx2

    facts.mask = settings.secrets.mask

    # Taken apart once: for each request anew that is a fifteenth of all the work for a call.
    endpoint = httpx2.URL(settings.url)

    streams = StandingStreams()

    class Client(httpx2.AsyncClient):
        """Every request of the SDK passes through `send`."""

        def build_request(
            self, method: str, url: httpx2.URL | str, **options: Any
        ) -> httpx2.Request:
            target = endpoint if url == settings.url else url
            return super().build_request(method, target, **options)

        async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
            if request.method == "GET" and not answers_elsewhere:
                return await streams.open(partial(self._ask, request, options))
            return await self._ask(request, options)

        async def _ask(self, request: httpx2.Request, options: dict[str, Any]) -> httpx2.Response:
            patience = Patience(request, facts)
            while True:
                try:
                    response = await super().send(request, **options)
                    facts.status, facts.failure = response.status_code, ""
                    if response.status_code >= 300:
                        if await patience.outlasts_the_refusal(response):
                            continue
                        answer = await refusal(request, response, facts, patience.remark)
                        if answers_elsewhere and answer.status_code >= 400:
                            note_a_refusal(answer, facts)
                        return answer
                    if request.method == "GET":
                        return watched(response, facts)
                    if answers_elsewhere:
                        return response
                    return await as_the_sdk_can_read_it(request, response, facts)
                except AuthFailure as failure:
                    return without_access(request, failure, facts)
                except httpx2.RequestError as cause:
                    if failure := of_the_service(cause, request):
                        return without_access(request, failure, facts)
                    if not await patience.outlasts_the_break(cause):
                        return broken_off(request, cause, facts)
                except Exception as cause:
                    if request.method == "GET":
                        raise
                    # The SDK would end the connection, for all other requests too.
                    logger.debug("%s: %r", settings.name, cause, exc_info=True)
                    return gone_wrong(request, cause)

    return Client(
        headers=settings.headers,
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=None),
        limits=httpx2.Limits(keepalive_expiry=_IDLE_SECONDS),
        verify=trusted,
        auth=authorization.as_httpx_auth() if authorization else None,
        # A proxy named in the environment is not asked for a server on this machine.
        trust_env=not is_this_machine(settings.url),
    )
