"""MCP over the stdin and stdout of this process."""

from __future__ import annotations

import asyncio
import os
import sys

from .lines import MAX_LINE_BYTES, LineReader, LineWriter


async def stdio_streams() -> tuple[LineReader, LineWriter]:
    """Return the SDK's streams for reading and writing.

    From here on everything else that writes to stdout, such as a function's file, writes to stderr.
    Unlike in the SDK's own transport, reading holds no thread, so that an interrupt ends it at
    once.

    Raises:
        ValueError: stdin or stdout is neither a pipe nor a terminal.
    """
    stdin, stdout = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
    reading = asyncio.StreamReaderProtocol(reader)
    await loop.connect_read_pipe(lambda: reading, os.fdopen(stdin, "rb", 0))
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(stdout, "wb", 0)
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)

    async def write(line: bytes) -> None:
        writer.write(line)
        await writer.drain()

    return LineReader(reader.readline), LineWriter(write)
