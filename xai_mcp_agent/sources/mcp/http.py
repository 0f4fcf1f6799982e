"""A server behind a URL: Streamable HTTP, and the older SSE.

The SDK's HTTP client ends the whole connection when one request cannot be
sent, and forgets the HTTP status of a refusal. So each request passes through a
transport of ours that turns such failures into an error answer to that one request, and keeps the facts.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

from ...settings.models import ServerSettings

if TYPE_CHECKING:
    import httpx2

# A server that accepts no connection within this is as good as down.
_CONNECT_SECONDS = 10.0
# Only the head of an error page is of use to a reader.
_SHOWN_BODY = 300
# JSON-RPC's own code for "something went wrong on the way".
_INTERNAL_ERROR = -32603


class HttpFacts:
    """What was noticed at the HTTP level. `unreachable` is set when the server stops answering."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.failure = ""
        self.unreachable = anyio.Event()

    def answered(self, status: int) -> None:
        """Note the status of an answer."""
        self.status = status
        self.failure = ""

    def failed(self, cause: Exception) -> None:
        """Note that no answer came."""
        self.failure = f"{type(cause).__name__}: {cause}".rstrip(": ")


def http_client(settings: ServerSettings, facts: HttpFacts, **options: Any) -> httpx2.AsyncClient:
    """A client that sends the server's headers and never lets one failure end the connection.

    Reads have no limit of their own: every request has ours, and streams may be silent for long.
    """
    # Here, because it is only needed once a server is reached by URL.
    import httpx2

    options.setdefault("timeout", httpx2.Timeout(_CONNECT_SECONDS, read=None))
    headers = {**settings.headers, **(options.pop("headers", None) or {})}
    return httpx2.AsyncClient(transport=_soft_transport(facts), headers=headers, **options)


@asynccontextmanager
async def http_transport(
    settings: ServerSettings, facts: HttpFacts
) -> AsyncGenerator[tuple[Any, Any]]:
    """Speak Streamable HTTP to the server's URL."""
    from mcp.client.streamable_http import streamable_http_client

    async with (
        http_client(settings, facts) as client,
        streamable_http_client(settings.url, http_client=client) as streams,
    ):
        yield streams


@asynccontextmanager
async def sse_transport(
    settings: ServerSettings, facts: HttpFacts
) -> AsyncGenerator[tuple[Any, Any]]:
    """Speak the older HTTP+SSE to the server's URL."""
    import httpx2
    from mcp.client.sse import sse_client

    def factory(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        patient = httpx2.Timeout(_CONNECT_SECONDS, read=None)
        return http_client(settings, facts, headers=headers, timeout=patient, auth=auth)

    async with sse_client(settings.url, httpx_client_factory=factory) as streams:
        yield streams


def _soft_transport(facts: HttpFacts) -> httpx2.AsyncBaseTransport:
    import httpx2

    class SoftTransport(httpx2.AsyncBaseTransport):
        """Sends requests; failures of a POST become JSON-RPC error answers."""

        def __init__(self) -> None:
            self._inner = httpx2.AsyncHTTPTransport()

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            try:
                response = await self._inner.handle_async_request(request)
            except httpx2.TransportError as cause:
                return self._no_answer(request, cause)
            facts.answered(response.status_code)
            if request.method == "POST" and _is_bare_refusal(response):
                return await self._refusal(response)
            return response

        def _no_answer(self, request: httpx2.Request, cause: Exception) -> httpx2.Response:
            facts.failed(cause)
            facts.unreachable.set()
            if request.method != "POST":
                raise cause
            return _error_answer(503, facts.failure)

        async def _refusal(self, response: httpx2.Response) -> httpx2.Response:
            body = (await response.aread())[:_SHOWN_BODY].decode("utf-8", "replace").strip()
            await response.aclose()
            text = f"HTTP {response.status_code}" + (f": {body}" if body else "")
            challenge = response.headers.get("www-authenticate")
            return _error_answer(response.status_code, text, challenge)

        async def aclose(self) -> None:
            await self._inner.aclose()

    return SoftTransport()


def _is_bare_refusal(response: httpx2.Response) -> bool:
    is_json = "json" in response.headers.get("content-type", "")
    return response.status_code >= 400 and not is_json


def _error_answer(status: int, message: str, challenge: str | None = None) -> httpx2.Response:
    import httpx2

    error = {"code": _INTERNAL_ERROR, "message": message, "data": {"http_status": status}}
    return httpx2.Response(
        status,
        headers={"www-authenticate": challenge} if challenge else None,
        json={"jsonrpc": "2.0", "id": None, "error": error},
    )
