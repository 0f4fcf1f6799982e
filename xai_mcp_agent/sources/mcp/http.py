"""HTTP to one MCP server: Streamable HTTP through the SDK, and the older HTTP+SSE.

The SDK ends the whole connection when one POST fails or its response breaks off, and forgets the
status of a refusal. Our HTTP client turns such a failure into a JSON-RPC error of that one request.
Redirects and origins are left to the SDK. Sign-in is the client's `auth`: its own requests do not
pass here, and a 401 seen here is final.

Imported when the first server behind a URL is reached, because httpx2 and the SDK are heavy.
"""

from __future__ import annotations

import codecs
import html
import logging
import math
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
import httpx2
from mcp.client.streamable_http import streamable_http_client

from ...core.backoff import Backoff
from ...core.util import trusted_certificates
from ...secrets.secrets import mask_and_cut
from ..http import (
    CONNECT_ERRORS,
    CONNECT_SECONDS,
    IDLE_SECONDS,
    PROXY_ERRORS,
    read_body,
    retry_after,
)
from ..web.network_errors import by_which_way, has_too_many_files, proxy_of
from .auth.errors import AuthFailure
from .connection import Connection, Trouble
from .http_responses import (
    answer_to,
    error_response,
    is_forgotten,
    rpc_error_in,
    rpc_error_response,
)
from .older_http import older_streams
from .requests import current_request

logger = logging.getLogger(__name__)

_MAX_BYTES = 64 * 1024 * 1024  # a larger response is broken or hostile
_MAX_REFUSAL_BYTES = 64 * 1024  # an error page gives its reason at the beginning
_SMALL_BYTES = 64 * 1024  # only the SDK checks larger answers: checking twice takes long
_ROOM_SECONDS = 0.5  # time a request must have left for its response after a wait
_LONGEST_WAIT_SECONDS = 60.0  # for a request without its own limit
_RESUMING_SECONDS = 0.2  # a server may say `retry: 0`

_LATER = (429, 503)  # the request was not carried out
_GATEWAY_TROUBLE = (502, 504)  # the server behind it may be working on the request
_NO_ENDPOINT = (400, 404, 405)
_SESSION_HEADER = "mcp-session-id"
_TAG = re.compile(r"<[^>]*>")


@asynccontextmanager
async def http_streams(
    connection: Connection, auth: httpx2.Auth | None
) -> AsyncGenerator[tuple[Any, Any]]:
    """Open the two streams to a server that the SDK's client takes."""
    try:
        certificates = await anyio.to_thread.run_sync(trusted_certificates)
    except OSError as cause:
        connection.failure = f"the certificates that SSL_CERT_FILE names cannot be read: {cause}"
        raise
    settings = connection.settings
    try:
        client = ServerHttpClient(connection, auth, certificates)
    except PROXY_ERRORS as cause:
        connection.failure = f"{cause}{by_which_way(settings.url)}"
        raise
    async with client:
        if settings.transport == "sse":
            async with older_streams(client, settings.url, _MAX_BYTES, connection) as streams:
                yield streams
        else:
            async with streamable_http_client(
                settings.url, http_client=client, max_sse_event_size=_MAX_BYTES
            ) as streams:
                yield streams


@dataclass(eq=False)
class _Pending:
    """An open request with its caller's `deadline`; `is_over` once the caller stops waiting."""

    id: Any
    deadline: float
    may_go_twice: bool
    is_over: bool = False


_pending: ContextVar[_Pending | None] = ContextVar("pending", default=None)
"""The request being posted: the SDK posts in the context of the message's sender."""


class ServerHttpClient(httpx2.AsyncClient):
    """HTTP client of one server, with its headers, certificates, proxy and access.

    A POST that fails or is refused gets a JSON-RPC error as its response. Reads have no limit of
    their own, because every request has one and streams may be silent for long.
    """

    def __init__(
        self,
        connection: Connection,
        auth: httpx2.Auth | None,
        certificates: ssl.SSLContext,
    ) -> None:
        settings = connection.settings
        super().__init__(
            auth=auth,
            verify=certificates,
            headers=settings.headers,
            timeout=httpx2.Timeout(CONNECT_SECONDS, read=None),
            limits=httpx2.Limits(keepalive_expiry=IDLE_SECONDS),
            proxy=proxy_of(settings.url) or None,
            trust_env=False,  # `proxy_of` has already read it
        )
        connection.posting = self._posting
        self._name = settings.name
        self._is_older = settings.transport == "sse"
        self._connection = connection
        self._mask = settings.secrets.redact
        self._pauses = Backoff()
        self._requests: WeakValueDictionary[Any, _Pending] = WeakValueDictionary()

    @contextmanager
    def _posting(self, message: Any) -> Generator[None]:
        """Record the request that is posted within the block.

        Raises:
            ValueError: the message cannot be JSON; raised in the SDK's task, it would end the
                connection.
        """
        method = getattr(message, "method", None)
        params: dict[str, Any] = getattr(message, "params", None) or {}
        pending = None
        if method != "tools/call":  # the pipeline has checked tool calls
            message.model_dump_json(by_alias=True, exclude_unset=True)
        if method == "notifications/cancelled":
            # In the handshake era the POST outlives its caller; it must not be sent again.
            if request := self._requests.get(params.get("requestId")):
                request.is_over = True
        elif method is not None and getattr(message, "id", None) is not None:
            current = current_request.get()
            twice = method != "tools/call" or bool(current and current.may_go_twice)
            pending = _Pending(message.id, anyio.current_effective_deadline(), twice)
            self._requests[message.id] = pending
        token = _pending.set(pending)
        try:
            yield
        finally:
            _pending.reset(token)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request of the SDK."""
        send = partial(super().send, request, **options)
        if request.method == "POST":
            return await self._post(request, send)
        if request.method != "GET":
            return await send()
        if self._is_older:
            return await self._open_older(request, send)
        return await (self._resume(send) if _pending.get() else self._open_standing(send))

    async def _post(
        self, request: httpx2.Request, send: Callable[[], Awaitable[httpx2.Response]]
    ) -> httpx2.Response:
        is_first = True
        while True:
            try:
                response = await send()
                self._connection.status, self._connection.failure = response.status_code, ""
                if is_first and await self._should_resend(response):
                    is_first = False
                    continue
                return await self._make_readable(request, response)
            except AuthFailure as failure:
                return self._access_error(request, failure)
            except httpx2.RequestError as cause:
                if is_first and self._should_resend_after(cause):
                    is_first = False
                    continue
                return self._break_error(request, cause)
            except Exception as cause:
                logger.debug("%s: %r", self._name, cause, exc_info=cause)
                return error_response(request, self._message_of(cause), status=500)

    async def _should_resend(self, response: httpx2.Response) -> bool:
        """Return whether to resend the request after this response; waits as the server asks."""
        pending = _pending.get()
        if pending is None:
            return False
        wait = 0.0
        if response.status_code in _LATER:
            retry_seconds = retry_after(response.headers)
            wait = math.inf if retry_seconds is None else retry_seconds
        elif response.status_code not in _GATEWAY_TROUBLE or not pending.may_go_twice:
            return False
        remaining = pending.deadline - anyio.current_time() - _ROOM_SECONDS
        if wait > min(remaining, _LONGEST_WAIT_SECONDS):
            return False
        await anyio.sleep(wait)
        if pending.is_over:
            return False
        await response.aclose()
        return True

    def _should_resend_after(self, cause: httpx2.RequestError) -> bool:
        """Return whether to resend the request after its connection broke."""
        pending = _pending.get()
        if pending is None or not pending.may_go_twice or pending.is_over:
            return False
        # If nothing listens there, a new connection finds out, with its own pauses.
        return not isinstance(cause, (*CONNECT_ERRORS, httpx2.DecodingError))

    async def _make_readable(
        self, request: httpx2.Request, response: httpx2.Response
    ) -> httpx2.Response:
        """Return a response that the SDK can read to its end."""
        if response.status_code >= 300:
            # The SDK follows a redirect within the origin, and names any other in an error.
            is_redirect = response.has_redirect_location
            return response if is_redirect else await self._refusal(request, response)
        pending = _pending.get()
        if self._is_older or pending is None:
            return response
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/event-stream":
            return response
        if kind == "application/json":
            return await self._json_answer(request, response, pending.id)
        message = f"HTTP {response.status_code} with {kind or 'no content type'} instead of JSON"
        head = await read_body(response, _MAX_REFUSAL_BYTES)
        return error_response(request, self._with_head(message, head), trouble="unreadable")

    async def _json_answer(
        self, request: httpx2.Request, response: httpx2.Response, request_id: Any
    ) -> httpx2.Response:
        """Return the answer read to its end: in the SDK a break would end the connection."""
        headers, problem = response.headers, ""
        length = headers.get("content-length", "")
        is_small = length.isdecimal() and int(length) <= _SMALL_BYTES
        is_whole = is_small and "content-encoding" not in headers
        raw_body = await (response.aread() if is_whole else read_body(response, _MAX_BYTES))
        body = raw_body.removeprefix(codecs.BOM_UTF8)
        if len(body) > _MAX_BYTES:
            problem = f"it is larger than {_MAX_BYTES // 1024**2} MiB"
        elif len(body) <= _SMALL_BYTES:
            try:
                body = answer_to(request_id, body)
            except ValueError as cause:
                problem = self._with_head(str(cause), body)
        if problem:
            return error_response(request, problem, trouble="unreadable")
        if is_whole and body is raw_body:
            return response
        sdk_headers = {x: headers[x] for x in ("content-type", _SESSION_HEADER) if x in headers}
        return httpx2.Response(
            response.status_code, headers=sdk_headers, content=body, request=request
        )

    async def _refusal(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """Return a refusal as a JSON-RPC error, or its body if that already is one."""
        status = response.status_code
        body = await read_body(response, _MAX_REFUSAL_BYTES)
        error = rpc_error_in(body)
        self._connection.has_no_endpoint = status in _NO_ENDPOINT and error is None
        if _SESSION_HEADER in request.headers and is_forgotten(status, error):
            message = "the server has forgotten our session"
            return error_response(request, message, status=status, trouble="forgotten")
        if error is not None:
            return rpc_error_response(request, status, error)
        message = self._with_head(f"HTTP {status}", body)
        if status in _LATER and (wait := retry_after(response.headers)):
            message += f" (retry after {wait:.0f} s)"
        return error_response(request, message, status=status)

    def _access_error(self, request: httpx2.Request, failure: AuthFailure) -> httpx2.Response:
        self._connection.status, self._connection.failure = 401, ""
        self._connection.no_access = failure
        return error_response(request, failure.problem, status=401, next_step=failure.next_step)

    def _break_error(self, request: httpx2.Request, cause: httpx2.RequestError) -> httpx2.Response:
        """Return an error for a response that never came or broke off."""
        if isinstance(cause, httpx2.DecodingError):
            return error_response(request, "it cannot be unpacked", trouble="unreadable")
        self._note_break(request, cause)
        trouble: Trouble = "unsent" if isinstance(cause, CONNECT_ERRORS) else "broken"
        return error_response(request, self._connection.failure, status=503, trouble=trouble)

    def _note_break(self, request: httpx2.Request, cause: httpx2.RequestError) -> None:
        self._connection.failure = self._message_of(cause) + by_which_way(str(request.url))
        self._connection.health.doubt()

    async def _open_standing(
        self, send: Callable[[], Awaitable[httpx2.Response]]
    ) -> httpx2.Response:
        """Open the stream for notices of the handshake era, again and again if need be.

        The SDK gives up after two failures, even if they are days apart, and a load balancer breaks
        every idle stream.
        """
        while True:
            await self._pauses.before_opening()
            try:
                response = await send()
            except httpx2.RequestError:
                continue  # requests will show whether the server is gone
            if response.status_code < 500 and response.status_code != 429:
                break
            await response.aclose()
        if response.is_success and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _StandingStream(response.stream, self._connection.health.doubt)
        return response

    async def _resume(self, send: Callable[[], Awaitable[httpx2.Response]]) -> httpx2.Response:
        """Reopen the stream of one request."""
        pending = _pending.get()
        assert pending is not None
        await anyio.sleep(_RESUMING_SECONDS)
        if pending.is_over:
            # The SDK would go on for ever, because a server does not answer a cancelled request.
            raise httpx2.ReadTimeout("the caller has stopped waiting for the answer")
        return await send()

    async def _open_older(
        self, request: httpx2.Request, send: Callable[[], Awaitable[httpx2.Response]]
    ) -> httpx2.Response:
        """Open the stream of the older transport.

        Raises:
            HTTPStatusError: the server refused; it says why.
            RequestError: there is no response.
        """
        try:
            response = await send()
        except AuthFailure as failure:
            self._connection.no_access = failure
            raise
        except httpx2.RequestError as cause:
            self._note_break(request, cause)
            raise
        self._connection.status, self._connection.failure = response.status_code, ""
        if response.is_success or response.has_redirect_location:
            return response
        message = self._with_head(
            f"HTTP {response.status_code}", await read_body(response, _MAX_REFUSAL_BYTES)
        )
        raise httpx2.HTTPStatusError(message, request=request, response=response)

    def _with_head(self, message: str, body: bytes) -> str:
        """Append the beginning of a body to `message`, on one line and without HTML tags."""
        text = html.unescape(_TAG.sub(" ", body[:_MAX_REFUSAL_BYTES].decode("utf-8", "replace")))
        head = mask_and_cut(" ".join(text.split()), self._mask)
        return f"{message}: {head}" if head else message

    def _message_of(self, cause: Exception) -> str:
        if has_too_many_files(cause):
            return "too many open files here"
        return mask_and_cut(f"{type(cause).__name__}: {cause}", self._mask).rstrip(": .")


class _StandingStream(httpx2.AsyncByteStream):
    """Stream that ends when it breaks off: only then does the SDK reopen it without counting."""

    def __init__(self, inner: httpx2.AsyncByteStream, on_end: Callable[[], None]) -> None:
        self._inner = inner
        self._on_end = on_end

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                yield chunk
        except httpx2.RequestError as cause:
            logger.debug("the stream for notices broke off: %r", cause)
        finally:
            self._on_end()

    async def aclose(self) -> None:
        await self._inner.aclose()
