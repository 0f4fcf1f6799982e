"""MCP messages over a child process's stdin and stdout.

Our own transport, because the SDK's tells neither the exit code nor the process id, needs a
stderr with a file number (notebooks have none), dies of one invalid byte, slows down with the
square of a line's length, and leaves the server's own children behind.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from pydantic_core import from_json

from ....settings.server import ServerSettings
from ...web.large_json import SHORT_BYTES, TooMuch, is_too_deep, read_large, takes_long
from ..wire.lenient_json import lenient_messages
from ..wire.streams import message_reader, unreadable_answer
from .process import CutLine, ServerProcess, StdioFacts, UnfinishedLine, start_process
from .stderr import StderrLog

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

_NOISE_SHOWN = 200
_NOISE_READ = 4 * _NOISE_SHOWN  # bytes; a character has up to four
# Where every library puts it: an id further inside might belong to something else.
_LEADING_ID = re.compile(rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,15})\s*,')


@asynccontextmanager
async def stdio_transport(
    settings: ServerSettings, stderr: StderrLog, facts: StdioFacts
) -> AsyncGenerator[tuple[Any, Any]]:
    """Start the server, unless it was, and speak to it; leaving ends it with all its children.

    Raises:
        OSError: it cannot be started.
    """
    facts.process = process = facts.process or await start_process(settings, stderr)
    facts.is_used = True
    try:
        yield _Incoming(process, stderr), _Outgoing(process)
    finally:
        # Ours to finish even when cancelled, or the process would be left; all waits are bounded.
        with anyio.CancelScope(shield=True):
            await process.end(in_a_hurry=facts.in_a_hurry)


class _Stream:
    """What the SDK asks of both directions. It closes nothing: the process is ended as a whole."""

    def __init__(self, process: ServerProcess) -> None:
        self._process = process

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        pass


class _Incoming(_Stream):
    """Messages, one from each line. What is no message goes to the stderr log."""

    def __init__(self, process: ServerProcess, stderr: StderrLog) -> None:
        super().__init__(process)
        self._stderr = stderr
        self._waiting: deque[SessionMessage] = deque()
        self._message_of = message_reader()

    def __aiter__(self) -> _Incoming:
        return self

    async def __anext__(self) -> SessionMessage:
        while not self._waiting:
            line = await self._process.next_line()
            if line is None:
                raise StopAsyncIteration
            is_short = len(line) <= SHORT_BYTES
            if is_short or not takes_long(line):
                # Read, then checked: faster than both at once.
                try:
                    return self._message_of(from_json(line))
                except ValueError as cause:
                    if is_short and not is_too_deep(cause):
                        self._waiting.extend(self._parsed_leniently(line))
                        continue
            # In a thread, and there in small steps: others on the loop go on meanwhile.
            # Shielded: a wait that is given up must not cost the line.
            with anyio.CancelScope(shield=True):
                self._waiting.extend(await anyio.to_thread.run_sync(self._large, line))
        return self._waiting.popleft()

    def _large(self, line: bytes) -> list[SessionMessage]:
        try:
            return [self._message_of(read_large(line))]
        except TooMuch as cause:
            answered = _LEADING_ID.match(line)
            return [unreadable_answer(int(answered[1]), str(cause))] if answered else []
        except ValueError:
            return list(self._parsed_leniently(line))

    def _parsed_leniently(self, line: bytes) -> Iterator[SessionMessage]:
        """What can be understood is; an answer that cannot be fails its request."""
        found = list(self._salvaged(line))
        yield from found
        if found:
            return
        noise = line[:_NOISE_READ].decode("utf-8", "replace").strip("\ufeff \r\n\t")
        self._stderr.add(f"(on stdout, not a message) {noise}", at_most=_NOISE_SHOWN)
        answered = _LEADING_ID.match(line)
        # A server that ended in the middle of an answer is lost, which says more than this would.
        if answered and not isinstance(line, UnfinishedLine):
            why = "too large" if isinstance(line, CutLine) else "not a valid message"
            yield unreadable_answer(int(answered[1]), f"it is {why}")

    def _salvaged(self, line: bytes) -> Iterator[SessionMessage]:
        for message in () if isinstance(line, CutLine) else lenient_messages(line):
            with suppress(ValueError):
                yield self._message_of(message)


class _Outgoing(_Stream):
    """Messages, each written as one line."""

    async def send(self, item: SessionMessage) -> None:
        # Written here, not in a task for it: what cannot be JSON fails the one who sends it.
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        self._process.write(text.encode())
