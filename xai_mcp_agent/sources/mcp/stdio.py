"""A server as a child process, spoken to over its stdin and stdout.

Our own transport, because the SDK's tells neither the exit code nor the process id, needs a stderr with
a file number (notebooks have none), dies of one invalid byte, and leaves
the server's own children behind.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from subprocess import PIPE
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import ByteReceiveStream, Process

from ...settings.models import ServerSettings
from .stderr import StderrLog

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage

    Incoming = MemoryObjectSendStream[SessionMessage | Exception]
    Outgoing = MemoryObjectReceiveStream[SessionMessage]

logger = logging.getLogger(__name__)

_READ_BYTES = 65536
# A line is one message. Above this a server is broken or hostile, and memory matters more.
_MAX_LINE_BYTES = 256 * 1024 * 1024
# Servers flush their logs and databases when their stdin closes.
_STOP_GRACE_SECONDS = 2.0
# After SIGTERM; then SIGKILL.
_TERM_GRACE_SECONDS = 1.0
_FLUSH_SECONDS = 0.5
_NOISE_SHOWN = 200
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
_CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)


class ServerProcess:
    """One child process. `exit_code` is None while it runs; a signal's is negative."""

    def __init__(self, process: Process, stderr: StderrLog) -> None:
        self._process = process
        self._stderr = stderr
        self._writer_done = anyio.Event()

    @property
    def exit_code(self) -> int | None:
        """How the process ended."""
        return self._process.returncode

    @property
    def pid(self) -> int:
        """Its process id, which is also its group's."""
        return self._process.pid

    async def read_messages(self, incoming: Incoming) -> None:
        """Turn stdout into messages until it ends; what is no message goes to the stderr log."""
        assert self._process.stdout is not None
        async with incoming:
            with suppress(*_CLOSED):
                async for line in _lines(self._process.stdout):
                    if (message := self._parse(line)) is not None:
                        await incoming.send(message)
            await self._drain(self._process.stdout)

    async def write_messages(self, outgoing: Outgoing) -> None:
        """Write every message as one line until the stream closes."""
        assert self._process.stdin is not None
        try:
            async with outgoing:
                async for item in outgoing:
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await self._process.stdin.send(text.encode() + b"\n")
        except _CLOSED as cause:
            logger.debug("stdin of process %s closed: %r", self.pid, cause)
        finally:
            self._writer_done.set()

    async def read_stderr(self) -> None:
        """Keep the server's last words; read for as long as any process holds its stderr."""
        assert self._process.stderr is not None
        with suppress(*_CLOSED):
            while True:
                self._stderr.feed(await self._process.stderr.receive(_READ_BYTES))

    async def close(self, *, in_a_hurry: bool) -> None:
        """End the process and all it started, politely first. Bounded in time."""
        with anyio.move_on_after(_FLUSH_SECONDS):
            await self._writer_done.wait()
        with suppress(*_CLOSED):
            assert self._process.stdin is not None
            await self._process.stdin.aclose()
        if not await self._ends_within(0.0 if in_a_hurry else _STOP_GRACE_SECONDS):
            self._signal_group(signal.SIGTERM)
            await self._ends_within(_TERM_GRACE_SECONDS)
        # Always: a server that ended by itself may have left children behind.
        self._signal_group(_KILL)
        await self._ends_within(_TERM_GRACE_SECONDS)
        self._release()

    async def _ends_within(self, seconds: float) -> bool:
        # Polled: waiting would also wait for the pipes, which a grandchild may hold open.
        deadline = anyio.current_time() + seconds
        while self.exit_code is None and anyio.current_time() < deadline:
            await anyio.sleep(0.005)
        return self.exit_code is not None

    def _signal_group(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self.pid, number)

    def _release(self) -> None:
        # A grandchild that left our group may still hold a pipe; nothing public closes our end.
        transport = getattr(getattr(self._process, "_process", None), "_transport", None)
        if transport is not None:
            with suppress(PermissionError, ProcessLookupError):
                transport.close()

    def _parse(self, line: bytes) -> SessionMessage | None:
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        text = line.decode("utf-8", "replace").strip("\ufeff \r\n\t")
        if not text:
            return None
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
        except ValueError:
            self._stderr.add(f"(on stdout, not a message) {text[:_NOISE_SHOWN]}")
            return None

    async def _drain(self, stdout: ByteReceiveStream) -> None:
        # A server flushing a full pipe would never get to read that its stdin closed.
        with suppress(*_CLOSED):
            while True:
                await stdout.receive(_READ_BYTES)


@asynccontextmanager
async def stdio_transport(
    settings: ServerSettings, stderr: StderrLog, facts: dict[str, Any]
) -> AsyncGenerator[tuple[Any, Any]]:
    """Start the server and speak to it; leaving ends it with all its children.

    `facts["process"]` is the `ServerProcess` once there is one; set
    `facts["in_a_hurry"]` to skip the grace of a server that never answered.

    Raises:
        OSError: it cannot be started.
    """
    child = ServerProcess(await _spawn(settings), stderr)
    facts["process"] = child
    incoming, read = anyio.create_memory_object_stream[Any](0)
    write, outgoing = anyio.create_memory_object_stream[Any](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(child.read_messages, incoming)
        tasks.start_soon(child.write_messages, outgoing)
        tasks.start_soon(child.read_stderr)
        try:
            yield read, write
        finally:
            # Ours to finish even when cancelled, or the process would be left; all waits are bounded.
            with anyio.CancelScope(shield=True):
                read.close()
                write.close()
                await child.close(in_a_hurry=bool(facts.get("in_a_hurry")))
            tasks.cancel_scope.cancel()


async def _spawn(settings: ServerSettings) -> Process:
    environment = {**_inherited_environment(), **settings.env}
    command = shutil.which(settings.command, path=environment.get("PATH")) or settings.command
    return await anyio.open_process(
        [command, *settings.args],
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=environment,
        cwd=settings.cwd or None,
        # So that an interrupt of the kernel does not reach it, and its children can be ended with it.
        start_new_session=True,
    )


def _inherited_environment() -> Mapping[str, str]:
    from mcp.client.stdio import get_default_environment

    return get_default_environment()


async def _lines(stream: ByteReceiveStream) -> AsyncGenerator[bytes]:
    """Lines of a byte stream. Chunks are collected, not joined: long lines stay linear in time."""
    chunks: list[bytes] = []
    size = 0
    with suppress(anyio.EndOfStream):
        while size < _MAX_LINE_BYTES:
            first, *rest = (await stream.receive(_READ_BYTES)).split(b"\n")
            chunks.append(first)
            size += len(first)
            for part in rest:
                yield b"".join(chunks)
                chunks, size = [part], len(part)
    if chunks:
        yield b"".join(chunks)
