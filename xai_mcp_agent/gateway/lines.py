"""The SDK's message streams over lines of JSON: stdin and stdout, or a socket.

They read and write in the calling task. The SDK's transport uses two tasks and two queues, which
cost a call through the gateway a tenth of its time.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

import anyio
import mcp_types as types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from ..sources.mcp.streams import Stream
from ..sources.process import MAX_LINE_BYTES

# Windows reads standard pipes in threads alone; its loop says "[WinError 6] The handle is invalid"
# (python/cpython#87694).
_LOOP_READS_PIPES = sys.platform != "win32"


class LineReader(Stream):
    """Reads messages; an invalid line becomes an exception, which the SDK answers."""

    def __init__(self, lines: AsyncIterator[bytes]) -> None:
        self._lines = lines

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message.

        Raises:
            anyio.EndOfStream: there are no more.
        """
        try:
            return await anext(self)
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            line = await anext(self._lines)
        except ConnectionError:
            raise StopAsyncIteration from None
        try:
            return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError as problem:
            return problem


class LineWriter(Stream):
    """Writes messages."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message.

        Raises:
            anyio.BrokenResourceError: the client has disconnected.
        """
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            self._writer.write(text.encode() + b"\n")
            await self._writer.drain()
        except OSError as cause:
            raise anyio.BrokenResourceError from cause


@asynccontextmanager
async def stdio_streams() -> AsyncGenerator[tuple[Any, Any]]:
    """Yield the SDK's streams over the stdin and stdout of this process.

    From here on everything else that writes to stdout, such as a function's file, writes to stderr.
    Unlike in the SDK's own transport, reading holds no thread, so that an interrupt ends it at
    once.

    Raises:
        ValueError: stdin or stdout is neither a pipe nor a terminal.
    """
    if not _LOOP_READS_PIPES:
        async with stdio_server() as streams:
            yield streams
        return
    stdin, stdout = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
    reader_protocol = asyncio.StreamReaderProtocol(reader)
    await loop.connect_read_pipe(lambda: reader_protocol, os.fdopen(stdin, "rb", 0))
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(stdout, "wb", 0)
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    yield LineReader(aiter(reader)), LineWriter(writer)
