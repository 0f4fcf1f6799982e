"""The SDK's client over our own dispatcher, which sees every message in both directions.

The client brings the negotiation of the era, the rounds of questions and `listen`. The dispatcher
knows when the last message arrived and when the connection ended, limits the `server/discover`
request, takes change notices and log lines, and sanitizes results.

Import it only after the SDK is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from contextvars import copy_context
from time import monotonic
from typing import Any, TypeAlias

import anyio
import anyio.abc
import anyio.to_thread
from mcp import Client, InputRequiredRoundsExceededError
from mcp.shared.dispatcher import CallOptions, OnNotify, OnNotifyIntercept, OnRequest
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import MessageMetadata
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    UNSUPPORTED_PROTOCOL_VERSION,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
)
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from ...core.json import JsonObject, as_object
from .connection import PARSE_ERROR, Connection, ConnectionLost, NotDelivered, error_data
from .requests import current_request
from .sanitize import FRAMES, handshake, usable_tools

OnNotice: TypeAlias = Callable[[str, JsonObject], None]
"""Called with the method and the parameters of each notification; must be quick."""

_RESULT_TYPES = (None, "complete", "input_required")
_CANCEL_SECONDS = 1.0  # the caller, already out of time, waits for the cancellation
_NO_MORE_MESSAGES = "it accepts no more messages"
_MAX_ROUNDS = 10  # the SDK's limit
_STATE_SECONDS = 0.1  # before asking again without new input, about as the SDK
_LONGEST_TTL_MS = 2**53  # the SDK takes no larger number as an integer


class ServerClient(Client):
    """The SDK's client of one server, over a transport that yields its two streams.

    It replaces the function that makes the SDK's dispatcher; a test notices when the SDK changes.
    """

    def __init__(
        self, transport: Any, connection: Connection, on_notice: OnNotice, **options: Any
    ) -> None:
        super().__init__(transport, cache=None, **options)

        async def connect(exit_stack: AsyncExitStack, *_: object) -> ServerDispatcher:
            read, write = await exit_stack.enter_async_context(transport)
            return ServerDispatcher(read, write, connection, on_notice)

        self._connect = connect


class ServerDispatcher(JSONRPCDispatcher):
    """Dispatcher of one connection."""

    def __init__(self, read: Any, write: Any, connection: Connection, on_notice: OnNotice) -> None:
        super().__init__(read, write)
        self._read = read
        self._on_notice = on_notice
        self._may_elicit = connection.settings.elicitation != "decline"
        self._connection = connection
        self._probe_seconds = connection.settings.probe_timeout_seconds
        self._is_slow = False  # did not answer `server/discover` in time
        # The SDK's HTTP transport posts our answers one after the other, in queue order: a flood of
        # questions from the server would hold up every request and every cancellation.
        self._answer_lock = anyio.Lock(fast_acquire=True)

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,
        **routing: Any,
    ) -> dict[str, Any]:
        """Send a request and return its sanitized result; see `_send`.

        On 2026-07-28 a far client takes our place: the server sees the far client's capabilities,
        and the far client answers the server's requests, both unchanged.
        """
        request = current_request.get()
        if request is None or request.caller.far is None:
            return await self._send(method, params, opts, **routing)
        fields = {**(params or {})}
        far, meta = request.raw_client, as_object(fields.get("_meta"))
        if far is None or CLIENT_CAPABILITIES_META_KEY not in meta:
            return await self._send(method, params, opts, **routing)
        capabilities = {
            x: y for x, y in far.capabilities.items() if self._may_elicit or x != "elicitation"
        }
        fields["_meta"] = {**meta, CLIENT_CAPABILITIES_META_KEY: capabilities}
        continuation: JsonObject = {}
        for _ in range(_MAX_ROUNDS):
            result = await self._send(method, fields | continuation, opts, **routing)
            if result.get("resultType") != "input_required":
                return result
            continuation = {x: y for x, y in result.items() if x == "requestState"}
            if requests := as_object(result.get("inputRequests")):
                with self._connection.clocks.pause():
                    continuation["inputResponses"] = await request.respond(requests)
            else:
                await anyio.sleep(_STATE_SECONDS)
        raise InputRequiredRoundsExceededError(_MAX_ROUNDS)

    async def _send(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,
        **routing: Any,
    ) -> dict[str, Any]:
        """Send one request.

        Raises:
            NotDelivered: the connection was over, so the server cannot have seen it.
            ConnectionLost: the connection ended before the response came.
            MCPError: as in the SDK.
        """
        if self._closed:
            raise NotDelivered(_NO_MORE_MESSAGES)
        if method == "server/discover":
            opts = {**(opts or {}), "timeout": self._probe_seconds}
        if method != "tools/call" and not (params or {}).get("cursor"):
            self._connection.forget_notes(method)
        try:
            result = await super().send_raw_request(method, params, opts, **routing)
        except MCPError as error:
            if error.code == CONNECTION_CLOSED and self._closed:
                raise ConnectionLost("it ended the connection") from error
            if error.code != REQUEST_TIMEOUT:
                self._connection.health.last_message_at = monotonic()
            elif method == "server/discover":
                self._is_slow = True
            if method == "initialize" and self._is_slow:
                raise _other_version(error) from error
            raise
        self._connection.health.last_message_at = monotonic()
        return await self.frame_of(method, result)

    async def frame_of(self, method: str, result: JsonObject) -> JsonObject:
        """Return a result's frame for the SDK; the current `McpRequest` gets the whole result."""
        kind = result.get("resultType")
        if kind not in _RESULT_TYPES:  # MCP 2026-07-28 has the client refuse it
            message = f"the result type {kind!r} is unknown"
            raise MCPError(PARSE_ERROR, message, error_data(trouble="unreadable"))
        if method in ("initialize", "server/discover"):
            return handshake(method, result)
        if method not in FRAMES or kind == "input_required":
            return result
        frame: JsonObject = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        frame |= FRAMES[method]
        if method.endswith("/list"):
            result = await self._frame_list(method, result, frame)
        if request := current_request.get():
            request.answer = result
        return frame

    async def _frame_list(self, method: str, result: JsonObject, frame: JsonObject) -> JsonObject:
        def note(text: str) -> None:
            self._connection.note(text, method)

        milliseconds = result.get("ttlMs")
        if isinstance(milliseconds, int | float) and milliseconds > 0:
            frame["ttlMs"] = int(min(milliseconds, _LONGEST_TTL_MS))
        if isinstance(cursor := result.get("nextCursor"), str):
            frame["nextCursor"] = cursor
        elif cursor is not None:
            note("`nextCursor` of the listing is not text, so its other pages are missing.")
        if method != "tools/list":
            return result
        # In a thread, because the list may be of any size. Of tools the SDK only needs to know
        # which arguments go into headers.
        tools, frames = await anyio.to_thread.run_sync(usable_tools, result.get("tools"), note)
        frame["tools"] = list(frames.values())
        return {"tools": tools, "frames": frames}

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Read messages until the connection ends; notices bypass the SDK's slow path."""

        async def answer(context: Any, method: str, params: Mapping[str, Any] | None) -> Any:
            self._connection.health.last_message_at = monotonic()
            return await on_request(context, method, params)

        def take(method: str, params: Mapping[str, Any] | None) -> bool:
            if on_notify_intercept is not None:
                on_notify_intercept(method, params)  # for the streams of `listen`
            # Over HTTP a message comes in the context of the request that opened its stream.
            context = getattr(self._read, "last_context", None) or copy_context()
            self._connection.health.last_message_at = monotonic()
            context.run(self._on_notice, method, dict(params or {}))
            return True

        try:
            await super().run(answer, on_notify, take, task_status=task_status)
        finally:
            self._connection.health.end()

    async def _final_write(self, write: Any, *, timeout: float, **options: Any) -> None:  # noqa: ASYNC109 - the SDK's
        await super()._final_write(write, timeout=min(timeout, _CANCEL_SECONDS), **options)

    async def _write(self, message: JSONRPCMessage, metadata: MessageMetadata = None) -> None:
        try:
            with self._connection.posting(message):
                if isinstance(message, JSONRPCResponse | JSONRPCError):
                    async with self._answer_lock:
                        await super()._write(message, metadata)
                else:
                    await super()._write(message, metadata)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as cause:
            if isinstance(message, JSONRPCRequest):
                raise NotDelivered(_NO_MORE_MESSAGES) from cause
            raise  # the SDK expects these for all messages but requests


def _other_version(refusal: MCPError) -> MCPError:
    """Return a slow server's handshake refusal, worded so that the SDK retries the newer era.

    Markitdown takes eleven seconds to answer on a busy machine, and speaks only the newer era.
    """
    data = {"supported": [*MODERN_PROTOCOL_VERSIONS], "requested": LATEST_HANDSHAKE_VERSION}
    return MCPError(UNSUPPORTED_PROTOCOL_VERSION, refusal.message, data)
