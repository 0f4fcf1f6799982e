"""The older HTTP+SSE transport (MCP 2024-11-05), for servers that know no other.

One GET streams all responses, and messages are posted to the address in its first event. The SDK's
`sse_client` is not used: it ends the connection over an event above 1 MiB, waits for ever once it
has refused that address, and never sends anything again after one POST has failed.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared._httpx_utils import redirect_note, request_within_origin, sse_within_origin
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCRequest
from mcp_types import jsonrpc_message_adapter as any_message
from pydantic import ValidationError

from ..web.origins import origin_of
from .connection import Connection
from .streams import Stream

logger = logging.getLogger(__name__)


class WrongEndpoint(Exception):
    """The stream names no usable address for messages."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.next_step = "Write the address where the server really is as `url`."


@asynccontextmanager
async def older_streams(
    client: httpx2.AsyncClient,
    url: str,
    max_event_bytes: int,
    connection: Connection,
) -> AsyncGenerator[tuple[Any, Any]]:
    """Open the two streams.

    Raises:
        WrongEndpoint: the address for messages is missing or on another server.
        HTTPError: the stream was not opened.
    """
    async with sse_within_origin(client, url, max_event_size=max_event_bytes) as source:
        response = source.response
        if not response.is_success:
            message = f"HTTP {response.status_code}{redirect_note(response)}"
            raise httpx2.HTTPStatusError(message, request=response.request, response=response)
        events = aiter(source)
        endpoint = _endpoint(url, await anext(events, None))
        send_stream, receive_stream = anyio.create_memory_object_stream[SessionMessage | Exception](
            0
        )
        async with send_stream, receive_stream, anyio.create_task_group() as tasks:
            tasks.start_soon(_read, events, send_stream, connection)
            yield receive_stream, _Writer(client, endpoint, send_stream)
            tasks.cancel_scope.cancel()


def _endpoint(url: str, event: httpx2.ServerSentEvent | None) -> str:
    """Return the address for messages; it gets credentials, so it must be on the same origin."""
    if event is None or event.event != "endpoint":
        raise WrongEndpoint("its stream ended before it said where messages go")
    try:
        endpoint = httpx2.URL(url).join(event.data)
    except httpx2.InvalidURL:
        problem = f"it wants messages sent to {event.data!r}, which is not an address"
        raise WrongEndpoint(problem) from None
    if origin_of(str(endpoint)) != origin_of(url):
        address = endpoint.copy_with(userinfo=b"", query=None, fragment=None)
        raise WrongEndpoint(
            f"its endpoint {address} is on another server, where credentials are not sent"
        )
    # A relative address has the user and password of the URL, an absolute one has not.
    return str(endpoint.copy_with(userinfo=endpoint.userinfo or httpx2.URL(url).userinfo))


async def _read(
    events: AsyncIterator[httpx2.ServerSentEvent],
    send_stream: MemoryObjectSendStream[SessionMessage | Exception],
    connection: Connection,
) -> None:
    """Pass on the stream's messages and its end."""
    async with send_stream:
        try:
            async for event in events:
                if event.event != "message" or not event.data:
                    continue
                try:
                    message = any_message.validate_json(event.data, by_name=False)
                except ValidationError as cause:
                    logger.debug("an event that is no message: %s", cause)
                else:
                    await send_stream.send(SessionMessage(message))
        except httpx2.RequestError as cause:
            connection.failure = connection.settings.secrets.redact(
                f"{type(cause).__name__}: {cause}"
            )


class _Writer(Stream):
    """Write stream that posts each message while its sender waits."""

    def __init__(
        self,
        client: httpx2.AsyncClient,
        endpoint: str,
        incoming: MemoryObjectSendStream[SessionMessage | Exception],
    ) -> None:
        self._client = client
        self._endpoint = endpoint
        self._incoming = incoming

    async def send(self, item: SessionMessage) -> None:
        """Post a message; a refused request gets its error here, because no response follows."""
        message = item.message
        content = message.model_dump_json(by_alias=True, exclude_unset=True)
        headers = {"content-type": "application/json"}
        response = await request_within_origin(
            self._client, "POST", self._endpoint, content=content, headers=headers
        )
        if isinstance(message, JSONRPCRequest) and not response.is_success:
            answer = JSONRPCError(jsonrpc="2.0", id=message.id, error=_error_in(response))
            # If the stream has ended, its end is the answer; raised here, the error would say
            # "never sent".
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await self._incoming.send(SessionMessage(answer))


def _error_in(response: httpx2.Response) -> ErrorData:
    try:
        message = any_message.validate_json(response.content, by_name=False)
    except ValidationError:
        message = None
    if isinstance(message, JSONRPCError):
        return message.error
    message = f"HTTP {response.status_code}{redirect_note(response)}"
    return ErrorData(code=INTERNAL_ERROR, message=message)
