"""A server behind a URL: Streamable HTTP, and the older SSE.

The SDK's HTTP client ends the whole connection when one request cannot be
sent or one answer breaks off, forgets the HTTP status of a refusal, and reads answers of any
size. So requests pass through a client of ours that turns such failures
into an error answer to that one request, and keeps the facts.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import anyio.to_thread

from ...settings.models import ServerSettings
from .watch import TROUBLE, Trouble

if TYPE_CHECKING:
    import httpx2
    from mcp.shared.message import SessionMessage

# A server that accepts no connection within this is as good as down.
_CONNECT_SECONDS = 10.0
# Most servers close a connection after five idle seconds; a request at that moment would be lost.
_IDLE_SECONDS = 4.0
# An answer above this is broken or hostile, and memory matters more.
_MAX_ANSWER_BYTES = 64 * 1024 * 1024
# Only the head of an error page is of use to a reader; more than this is not even read.
_SHOWN_BODY = 300
_MAX_REFUSAL_BYTES = 64 * 1024
# JSON-RPC's own codes; the first one stands for anything that went wrong on the way.
_INTERNAL_ERROR = -32603
_METHOD_NOT_FOUND = -32601
# Others are not read by it, or no longer true of a body that was read and unpacked.
_HEADERS_FOR_THE_SDK = ("content-type", "mcp-session-id", "www-authenticate")


class HttpFacts:
    """What was noticed at the HTTP level.

    `status` is that of the last answer, `failure` why there was none. `on_doubt` is called
    when the server may be gone.
    """

    def __init__(self) -> None:
        self.status: int | None = None
        self.failure = ""
        self.on_doubt: Callable[[], None] = _nothing


@asynccontextmanager
async def http_transport(
    settings: ServerSettings, facts: HttpFacts
) -> AsyncGenerator[tuple[Any, Any]]:
    """Speak Streamable HTTP to the server's URL."""
    from mcp.client.streamable_http import streamable_http_client

    trusted = await anyio.to_thread.run_sync(_trusted)
    async with (
        _http_client(settings, facts, trusted) as client,
        streamable_http_client(
            settings.url, http_client=client, max_sse_event_size=_MAX_ANSWER_BYTES
        ) as (read, write),
    ):
        yield read, _Sendable(write)


@asynccontextmanager
async def sse_transport(
    settings: ServerSettings, facts: HttpFacts
) -> AsyncGenerator[tuple[Any, Any]]:
    """Speak the older HTTP+SSE to the server's URL."""
    from mcp.client.sse import sse_client

    trusted = await anyio.to_thread.run_sync(_trusted)

    def factory(*_: object, **__: object) -> httpx2.AsyncClient:
        return _http_client(settings, facts, trusted, answers_elsewhere=True)

    async with sse_client(settings.url, httpx_client_factory=factory) as (read, write):
        yield read, _Sendable(write)


@cache
def _trusted() -> ssl.SSLContext:
    """Whose certificates are trusted; shared, because loading it takes a twentieth of a second."""
    import httpx2

    return httpx2.create_ssl_context()


def _http_client(
    settings: ServerSettings,
    facts: HttpFacts,
    trusted: ssl.SSLContext,
    *,
    answers_elsewhere: bool = False,
) -> httpx2.AsyncClient:
    """A client that sends the server's headers and never lets one failure end the connection.

    Reads have no limit of their own: every request has ours, and streams may be silent for long.
    `answers_elsewhere`: answers come on another stream, so a refused request will have none.
    """
    # Here, because it is only needed once a server is reached by URL.
    import httpx2

    class Client(httpx2.AsyncClient):
        """Every request of the SDK passes through `send`."""

        async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
            try:
                response = await super().send(request, **options)
                facts.status, facts.failure = response.status_code, ""
                if answers_elsewhere and request.method == "POST":
                    _note_a_refusal(response, facts)
                return await _as_the_sdk_can_read_it(request, response, facts)
            except httpx2.RequestError as cause:
                return _broken_off(request, cause, facts)

    return Client(
        headers=settings.headers,
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=None),
        limits=httpx2.Limits(keepalive_expiry=_IDLE_SECONDS),
        verify=trusted,
    )


async def _as_the_sdk_can_read_it(
    request: httpx2.Request, response: httpx2.Response, facts: HttpFacts
) -> httpx2.Response:
    if request.method == "GET":
        return _watched(response, facts)
    if response.status_code >= 400:
        return await _refusal(request, response)
    if _is_json(response):
        body = await _body(response, _MAX_ANSWER_BYTES)
        if len(body) > _MAX_ANSWER_BYTES:
            size = _MAX_ANSWER_BYTES // 1024**2
            text = f"it is larger than {size} MiB"
            return _error_answer(request, 502, text, trouble="unreadable")
        return _with_body(request, response, body)
    return response


def _note_a_refusal(response: httpx2.Response, facts: HttpFacts) -> None:
    if response.status_code >= 400:
        facts.failure = f"a request was answered with HTTP {response.status_code}"
        facts.on_doubt()


def _broken_off(
    request: httpx2.Request, cause: httpx2.RequestError, facts: HttpFacts
) -> httpx2.Response:
    import httpx2

    facts.failure = f"{type(cause).__name__}: {cause}".rstrip(": ")
    facts.on_doubt()
    if request.method == "GET":
        raise cause
    if request.method == "DELETE":
        return httpx2.Response(200, request=request)  # the session it should end is gone anyway
    never_sent = isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout)
    trouble: Trouble = "unsent" if never_sent else "broken"
    return _error_answer(request, 503, facts.failure, trouble=trouble)


async def _refusal(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """A refusal as a JSON-RPC error, which it may be already."""
    body = await _body(response, _MAX_REFUSAL_BYTES)
    error = _rpc_error_in(body)
    # In a session the server has to answer 404 once it has forgotten it (MCP, transports).
    is_forgotten = response.status_code == 404 and "mcp-session-id" in request.headers
    if is_forgotten and error.get("code") != _METHOD_NOT_FOUND:
        text = "the server has forgotten our session"
        return _error_answer(request, 404, text, trouble="forgotten")
    if error:
        return _with_body(request, response, body)
    is_page = "html" in response.headers.get("content-type", "")
    words = "an HTML page" if is_page else body.decode("utf-8", "replace").strip()[:_SHOWN_BODY]
    text = f"HTTP {response.status_code}" + (f": {words}" if words else "")
    challenge = response.headers.get("www-authenticate")
    return _error_answer(request, response.status_code, text, challenge=challenge)


def _rpc_error_in(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    error = cast(dict[str, Any], found).get("error") if isinstance(found, dict) else None
    is_ours = isinstance(error, dict) and "jsonrpc" in found and "code" in error
    return cast(dict[str, Any], error) if is_ours else {}


def _watched(response: httpx2.Response, facts: HttpFacts) -> httpx2.Response:
    """The same answer; the end of a standing stream may be the end of the server."""
    import httpx2

    class Stream(httpx2.AsyncByteStream):
        def __init__(self, inner: httpx2.AsyncByteStream) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for chunk in self._inner:
                    yield chunk
            except httpx2.RequestError as cause:
                facts.failure = f"{type(cause).__name__}: {cause}".rstrip(": ")
                raise
            finally:
                facts.on_doubt()

        async def aclose(self) -> None:
            await self._inner.aclose()

    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = Stream(response.stream)
    return response


async def _body(response: httpx2.Response, at_most: int) -> bytes:
    """The body, unpacked; one byte or more too long when there is more than `at_most`."""
    chunks: list[bytes] = []
    size = 0
    try:
        async for chunk in response.aiter_bytes(65536):
            chunks.append(chunk)
            size += len(chunk)
            if size > at_most:
                break
    finally:
        await response.aclose()
    return b"".join(chunks)


def _is_json(response: httpx2.Response) -> bool:
    return response.headers.get("content-type", "").lower().startswith("application/json")


def _with_body(request: httpx2.Request, response: httpx2.Response, body: bytes) -> httpx2.Response:
    import httpx2

    told = response.headers
    kept = {name: told[name] for name in _HEADERS_FOR_THE_SDK if name in told}
    # As a stream: as content it would be measured and described again, which takes longer.
    stream = httpx2.ByteStream(body)
    return httpx2.Response(response.status_code, headers=kept, stream=stream, request=request)


def _error_answer(
    request: httpx2.Request,
    status: int,
    message: str,
    *,
    challenge: str | None = None,
    trouble: Trouble | None = None,
) -> httpx2.Response:
    import httpx2

    data = {"http_status": status, TROUBLE: trouble}
    error = {"code": _INTERNAL_ERROR, "message": message, "data": data}
    return httpx2.Response(
        status,
        headers={"www-authenticate": challenge} if challenge else None,
        json={"jsonrpc": "2.0", "id": None, "error": error},
        request=request,
    )


class _Sendable:
    """A write stream that refuses what cannot be JSON.

    The SDK would find out in the task that posts it, and end the connection.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aenter__(self) -> _Sendable:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> Any:
        return await self._inner.__aexit__(*exc)

    async def send(self, item: SessionMessage) -> None:
        item.message.model_dump_json(by_alias=True, exclude_unset=True)
        await self._inner.send(item)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _nothing() -> None:
    """Nobody wants to know."""
