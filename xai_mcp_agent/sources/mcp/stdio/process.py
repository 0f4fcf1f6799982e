"""A server as a child process: started, written to, read line by line, ended with all it started.

Directly on asyncio's subprocess protocol: it hands over bytes as they come, without a task for
each pipe, and its transport can be closed while a stranger still holds the other end of a pipe.
What the lines mean is left to `transport.py`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from subprocess import PIPE
from time import monotonic
from typing import Protocol, cast

import anyio
import anyio.lowlevel
from anyio.lowlevel import RunVar

from . import guard
from .family import Family
from .stderr import StderrLog

# The SDK's list, which a test compares: a server is started while the SDK is still imported.
_ON_WINDOWS = (
    "APPDATA HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROCESSOR_ARCHITECTURE SYSTEMDRIVE "
    "SYSTEMROOT TEMP USERNAME USERPROFILE"
)
_ELSEWHERE = "HOME LOGNAME PATH SHELL TERM USER"
INHERITED = tuple((_ON_WINDOWS if sys.platform == "win32" else _ELSEWHERE).split())

# A line is one message. Above this a server is broken or hostile, and memory matters more.
_MAX_LINE_BYTES = 64 * 1024 * 1024
_KEPT_OF_CUT_LINE = 256
_FEW_PIECES = 8  # the first of them may be short
# More waiting lines than this and the server has to wait until some were read.
_QUEUED_LINES = 1000
# So many at a time, then others on the event loop get their turn.
_LINES_IN_A_ROW = 20
# A server that does not read its input is not given more than this to hold for it.
_MAX_UNREAD_BYTES = 64 * 1024 * 1024

# After SIGTERM; then SIGKILL.
_TERM_GRACE_SECONDS = 1.0
# A process that closed its stdout is usually about to exit; its exit code explains more.
_LAST_WORDS_SECONDS = 0.3
# What a server started is looked for this often, in case it or we die suddenly: while it speaks,
# which is when it may have started something, and always.
_LOOK_WHILE_SPEAKING_SECONDS = 0.2
_LOOK_SECONDS = 2.0
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
_STDIN, _STDOUT, _STDERR = 0, 1, 2
_PIPE_BYTES = 64 * 1024  # what a pipe holds on Linux

_starting: RunVar[anyio.Lock] = RunVar("starting")  # one for each event loop


def inherited_environment() -> dict[str, str]:
    """The variables that a server gets besides those its settings list."""
    found = {name: os.environ.get(name) for name in INHERITED}
    # A function of a shell, which an old one would run.
    return {k: v for k, v in found.items() if v is not None and not v.startswith("()")}


class CutLine(bytes):
    """The beginning of a line that was too long to be kept."""


class UnfinishedLine(bytes):
    """What was left when its stdout ended: the server did not get to the end of it."""


class ServerProcess(asyncio.SubprocessProtocol):
    """One child process in a session of its own. Its stderr goes to the log it is given.

    `grace_seconds`: how long it may take to end when its stdin has. `stdout_ended`: it closed its
    stdout by itself, so nothing more can come; `stdin_ended`: it takes nothing more, and so counts
    as ended too.
    """

    def __init__(self, stderr: StderrLog, grace_seconds: float) -> None:
        self.stdout_ended = self.stdin_ended = False
        self._stderr = stderr
        self._grace_seconds = grace_seconds
        self._lines: deque[bytes] = deque()
        self._something_new = anyio.Event()
        self._line = _LineInProgress()
        self._closing = False
        self._own_exit_code: int | None = None
        self._exited = anyio.Event()
        self._stderr_ended = anyio.Event()
        self._taken = 0
        self._look_at = 0.0

    @property
    def pid(self) -> int:
        """Its process id, which is also its group's."""
        return self._transport.get_pid()

    @property
    def exit_code(self) -> int | None:
        """How it ended by itself: None while it runs or when we ended it, negative for a signal."""
        return self._own_exit_code if self._closing else self._transport.get_returncode()

    def write(self, line: bytes) -> None:
        """Hand it one line; never waits.

        Raises:
            BrokenResourceError: it takes no more, or has not read for very long.
        """
        stdin = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(_STDIN))
        if stdin.is_closing() or stdin.get_write_buffer_size() > _MAX_UNREAD_BYTES:
            raise anyio.BrokenResourceError
        stdin.write(line + b"\n")

    async def next_line(self) -> bytes | None:
        """The next line of its stdout, or None when there will be no more."""
        self._taken += 1
        if self._taken % _LINES_IN_A_ROW == 0:
            await anyio.lowlevel.checkpoint()
        while not self._lines:
            if self.stdout_ended or self._closing:
                return None
            self._something_new = anyio.Event()
            await self._something_new.wait()
        line = self._lines.popleft()
        if len(self._lines) == _QUEUED_LINES // 2:
            self._stdout().resume_reading()
        return line

    async def last_words(self) -> None:
        """Wait a moment for its exit code and the end of its stderr, once its stdout has ended."""
        with anyio.move_on_after(_LAST_WORDS_SECONDS):
            await self._exited.wait()
            await self._stderr_ended.wait()

    async def end(self, *, in_a_hurry: bool) -> None:
        """End the process and all it started, politely first. Bounded in time."""
        if self.stdout_ended:
            await self.last_words()
            in_a_hurry = True  # it has had its time
        self._own_exit_code = self.exit_code
        self._closing = True
        self._look()
        self._lines.clear()
        # A server that flushes into a full pipe would never see its stdin end.
        self._stdout().resume_reading()
        self._close_stdin()
        if not await self._exits_within(0.0 if in_a_hurry else self._grace_seconds):
            self._signal_all(signal.SIGTERM)
            await self._exits_within(_TERM_GRACE_SECONDS)
        # Always: a server that ended by itself may have left children behind.
        self._signal_all(_KILL)
        await self._exits_within(_TERM_GRACE_SECONDS)
        self._next_look.cancel()
        guard.release(self.pid)
        # A grandchild that left our group may still hold a pipe; we do not wait for it.
        self._transport.close()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The process was started."""
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self._family = Family(self.pid)
        guard.protect(self.pid)
        self._next_look = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look)
        # To ask for more than a pipe holds, as asyncio does, costs ten times as much as to read.
        self._stdout().max_size = _PIPE_BYTES  # pyright: ignore[reportAttributeAccessIssue]

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """It wrote something."""
        if fd == _STDERR:
            self._stderr.feed(data)
        elif not self._closing:
            self._lines.extend(self._line.feed(data))
            self._tell()
            if monotonic() >= self._look_at:
                self._look()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """One of its pipes was closed."""
        if fd == _STDERR:
            self._stderr.end()
            self._stderr_ended.set()
        elif fd == _STDOUT and not (self._closing or self.stdout_ended):
            for line in self._line.feed(b"\n"):
                self._lines.append(UnfinishedLine(line))
            self.stdout_ended = True
            self._tell()
        elif fd == _STDIN and not self._closing:
            self.stdin_ended = True
            self._end_of_stdout_soon()

    def process_exited(self) -> None:
        """It ended; its pipes may stay open for those it started, which will not answer for it."""
        self._exited.set()
        self._end_of_stdout_soon()

    def _end_of_stdout_soon(self) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(_LAST_WORDS_SECONDS, self.pipe_connection_lost, _STDOUT, None)

    def _tell(self) -> None:
        if self._lines or self.stdout_ended:
            self._something_new.set()
        if len(self._lines) > _QUEUED_LINES:
            self._stdout().pause_reading()

    def _look(self) -> None:
        """See who is below it, now and every so often, and tell the guard: later is too late."""
        self._next_look.cancel()
        self._look_at = monotonic() + _LOOK_WHILE_SPEAKING_SECONDS
        self._next_look = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look)
        if self._family.look():
            guard.tell_family(self.pid, self._family.members)

    def _stdout(self) -> asyncio.ReadTransport:
        return cast(asyncio.ReadTransport, self._transport.get_pipe_transport(_STDOUT))

    def _close_stdin(self) -> None:
        stdin = self._transport.get_pipe_transport(_STDIN)
        if stdin is not None:
            stdin.close()

    async def _exits_within(self, seconds: float) -> bool:
        with anyio.move_on_after(seconds):
            await self._exited.wait()
        return self._exited.is_set()

    def _signal_all(self, number: int) -> None:
        self._family.look()
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._transport.kill()
            else:
                os.killpg(self.pid, number)
        self._family.signal(number)


class _LineInProgress:
    """Cuts bytes into lines. Pieces are collected, not joined: long lines stay linear in time."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._is_cut = False

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that these bytes complete; empty ones are left out."""
        first, *rest = data.split(b"\n")
        self._add(first)
        lines: list[bytes] = []
        for piece in rest:
            if self._size:
                lines.append(self._finished())
            self._pieces, self._size, self._is_cut = [], 0, False
            self._add(piece)
        return lines

    def _finished(self) -> bytes:
        line = b"".join(self._pieces)
        return CutLine(line) if self._is_cut else line

    def _add(self, piece: bytes) -> None:
        if self._is_cut:
            return
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > _MAX_LINE_BYTES:
            self._is_cut = True
            self._pieces = [b"".join(self._pieces[:_FEW_PIECES])[:_KEPT_OF_CUT_LINE]]


class Command(Protocol):
    """What to start. `env` comes beside `inherited_environment`."""

    @property
    def command(self) -> str:
        """The program."""
        ...

    @property
    def args(self) -> tuple[str, ...]:
        """Its arguments."""
        ...

    @property
    def env(self) -> Mapping[str, str]:
        """Variables of its own."""
        ...

    @property
    def cwd(self) -> str:
        """Its working folder; ours if empty."""
        ...

    @property
    def close_timeout_seconds(self) -> float:
        """How long it may take to end."""
        ...


async def start_process(settings: Command, stderr: StderrLog) -> ServerProcess:
    """Start a command.

    Raises:
        OSError: it cannot be started.
    """
    environment = {**inherited_environment(), **settings.env}
    command = shutil.which(settings.command, path=environment.get("PATH")) or settings.command
    process = ServerProcess(stderr, settings.close_timeout_seconds)
    async with _turn_to_start():
        await _start(process, command, settings, environment)
    return process


def _turn_to_start() -> anyio.Lock:
    """One after the other: starting a process holds everybody up, for milliseconds each."""
    try:
        return _starting.get()
    except LookupError:
        _starting.set(lock := anyio.Lock())
        return lock


async def _start(
    process: ServerProcess,
    command: str,
    settings: Command,
    environment: Mapping[str, str],
) -> None:
    # Not to be cancelled halfway, which takes no time: either there is a process with all its
    # pipes, and whoever is given it ends it, or there is none.
    with anyio.CancelScope(shield=True):
        await asyncio.get_running_loop().subprocess_exec(
            lambda: process,
            command,
            *settings.args,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=environment,
            cwd=settings.cwd or None,
            # So that an interrupt of the kernel does not reach it, and its children end with it.
            start_new_session=True,
        )


@dataclass
class StdioFacts:
    """Of one connection. `process` is there once it was started, which may be before it is used.

    `is_used`: a transport speaks to it, and will end it; `in_a_hurry`: without the grace that a
    server which answers deserves.
    """

    process: ServerProcess | None = None
    is_used: bool = False
    in_a_hurry: bool = False
