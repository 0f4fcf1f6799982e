"""The SDK's message streams over lines of JSON: stdin and stdout, or a socket.

They read and write in the calling task. The SDK's transport uses two tasks and two queues, which
cost a call through the gateway a tenth of its time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Self, TypeAlias

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Longest message, the same as from a server."""

NextLine: TypeAlias = Callable[[], Awaitable[bytes]]
"""Returns the next line, or b"" at the end."""


class _Stream:
    async def aclose(self) -> None:
        """Does nothing: the opener of the connection closes it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: Any) -> None:
        return None


class LineReader(_Stream):
    """Reads messages; an invalid line becomes an exception, which the SDK answers."""

    def __init__(self, next_line: NextLine) -> None:
        self._next_line = next_line

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message.

        Raises:
            anyio.EndOfStream: there are no more.
        """
        line = await self._next_line()
        if not line:
            raise anyio.EndOfStream
        try:
            return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError as problem:
            return problem

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class LineWriter(_Stream):
    """Writes messages, one at a time."""

    def __init__(self, write: Callable[[bytes], Awaitable[None]]) -> None:
        self._write = write
        self._one_at_a_time = anyio.Lock()

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message.

        Raises:
            anyio.BrokenResourceError: the client has disconnected.
        """
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        async with self._one_at_a_time:
            try:
                await self._write(text.encode() + b"\n")
            except OSError as gone:
                raise anyio.BrokenResourceError from gone
