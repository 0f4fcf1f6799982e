"""MCP over the stdin and stdout of this process."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Self

from mcp.server.stdio import stdio_server

_MAX_LINE_BYTES = 64 * 1024 * 1024  # as from a server


@asynccontextmanager
async def stdio_streams() -> AsyncGenerator[tuple[Any, Any]]:
    """The SDK's streams to read and to write.

    What else writes to stdout, such as a function's file, writes to stderr from here on. Reading
    holds no thread, unlike the SDK's own way, so that an interrupt ends it at once.

    Raises:
        ValueError: stdin or stdout is neither a pipe nor a terminal.
    """
    stdin, stdout = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    pipes: Any = await _Pipes.open(stdin, stdout)
    async with stdio_server(stdin=pipes, stdout=pipes) as streams:
        yield streams


class _Pipes:
    """Lines of text, as the SDK's transport reads and writes files."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, stdin: int, stdout: int) -> Self:
        """The pipes behind two descriptors."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=_MAX_LINE_BYTES)
        reading = asyncio.StreamReaderProtocol(reader)
        await loop.connect_read_pipe(lambda: reading, os.fdopen(stdin, "rb", 0))
        transport, writing = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(stdout, "wb", 0)
        )
        return cls(reader, asyncio.StreamWriter(transport, writing, None, loop))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        line = await self._reader.readline()
        if not line:
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")

    async def write(self, text: str) -> None:
        """Write a line."""
        self._writer.write(text.encode())

    async def flush(self) -> None:
        """Wait while the client reads too slowly."""
        await self._writer.drain()
