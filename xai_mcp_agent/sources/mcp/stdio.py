"""MCP messages over a child process's stdin and stdout.

The SDK's transport is not used: it reports neither the exit code nor the process id, needs a stderr
with a file number (notebooks have none), dies of one invalid byte, slows down with the square of a
line's length, and leaves the server's own children running.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self, cast

import anyio
import anyio.to_thread
from pydantic_core import from_json

from ...core.json import JsonObject
from ..process import ChildProcess, CutLine, UnfinishedLine
from ..stderr import StderrLog
from ..web.json_text import LONG_BYTES, read_json
from .connection import PARSE_ERROR, error_data
from .streams import Stream

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

_ANSWER = {"jsonrpc", "id", "result"}
_NOISE_CHARACTERS = 200
_NOISE_BYTES = 4 * _NOISE_CHARACTERS
# Every library puts the id here; an id further inside might belong to something else.
_LEADING_ID = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\b')
# Matches escapes from left to right; the group catches half a surrogate pair. JavaScript servers
# send those when they cut a text between the halves.
_ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.DOTALL,
)


@asynccontextmanager
async def stdio_streams(
    process: ChildProcess, stderr: StderrLog
) -> AsyncGenerator[tuple[Incoming, Outgoing]]:
    """Yield the two streams of a running server; its owner ends the process."""
    yield Incoming(process, stderr), Outgoing(process)


class Incoming(Stream):
    """Messages from a server, one per line. Other lines go to the stderr log."""

    def __init__(self, process: ChildProcess, stderr: StderrLog) -> None:
        # Imported here, because the SDK is only imported once a server is started.
        from mcp.shared.message import SessionMessage
        from mcp_types import ErrorData, JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter

        self._process = process
        self._stderr = stderr
        self._messages: deque[SessionMessage] = deque()
        self._message = SessionMessage
        self._any_message = jsonrpc_message_adapter.validate_python
        self._answer = JSONRPCResponse.model_validate
        self._refusal, self._error = JSONRPCError, ErrorData

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        while not self._messages:
            line = await self._process.next_line()
            if line is None:
                raise StopAsyncIteration
            if len(line) <= LONG_BYTES:
                self._messages.extend(self._messages_in(line))
            else:
                # In a thread, so that the event loop goes on. Shielded, because a cancelled wait
                # must not lose the line.
                with anyio.CancelScope(shield=True):
                    self._messages.extend(await anyio.to_thread.run_sync(self._messages_in, line))
        return self._messages.popleft()

    async def receive(self) -> SessionMessage:
        """Return the next message.

        Raises:
            EndOfStream: the server's output has ended.
        """
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    def _messages_in(self, line: bytes) -> list[SessionMessage]:
        """Return the messages on a line; an unreadable response fails its request."""
        try:
            value = _json_in(line)
            batch = cast("list[Any]", value) if isinstance(value, list) else [value]
            # Nearly all messages are responses; the SDK would find that out by trying every kind.
            return [
                self._message(
                    self._answer(x, by_name=False)
                    if isinstance(x, dict) and cast("JsonObject", x).keys() == _ANSWER
                    else self._any_message(x, by_name=False)
                )
                for x in batch
            ]
        except ValueError:
            why = "too large" if isinstance(line, CutLine) else "not a valid message"
            return list(self._reject(line, f"it is {why}"))

    def _reject(self, line: bytes, why: str) -> Iterator[SessionMessage]:
        noise = line[:_NOISE_BYTES].decode("utf-8", "replace").strip("\ufeff \r\n\t")
        self._stderr.add(f"(on stdout, not a message) {noise}", at_most=_NOISE_CHARACTERS)
        answered = _LEADING_ID.match(line)
        # A server that ended in mid-response is lost, which says more than this error would.
        if answered and not isinstance(line, UnfinishedLine):
            error = self._error(
                code=PARSE_ERROR, message=why, data=error_data(trouble="unreadable")
            )
            response = self._refusal(jsonrpc="2.0", id=int(answered[1]), error=error)
            yield self._message(response)


def _json_in(line: bytes) -> Any:
    """Return the JSON on a line.

    Raises:
        ValueError: the line is no JSON, or it was cut.
    """
    if not isinstance(line, CutLine):
        try:
            # Reading first and checking later is faster than both at once.
            return from_json(line)
        except ValueError:
            # Old encodings, byte order marks, half characters, deeply nested texts.
            text = line.decode("utf-8", "replace").strip("\ufeff\0 \r\n\t")
            if text[:1] in ("{", "["):
                return read_json(_ESCAPES.sub(lambda x: "\\ufffd" if x[1] else x[0], text))
    raise ValueError("no JSON")


class Outgoing(Stream):
    """Messages to a server, one per line."""

    def __init__(self, process: ChildProcess) -> None:
        self._process = process

    async def send(self, item: SessionMessage) -> None:
        """Write a message here, not in a task, so that its sender gets a JSON error."""
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        self._process.write(text.encode())
