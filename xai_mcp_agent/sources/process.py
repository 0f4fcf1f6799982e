"""Child processes: started, written to, read line by line, ended with all their descendants.

Built on asyncio's subprocess protocol: it delivers bytes without a task for each pipe, and its
transport can be closed while a stranger still holds the other end of a pipe. The caller interprets
the lines. POSIX-only code is here, in `guard.py` and `relay.py`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from subprocess import PIPE
from typing import TYPE_CHECKING, cast

import anyio
import anyio.lowlevel
import anyio.to_thread

from . import guard
from .stderr import StderrLog

if TYPE_CHECKING:
    import psutil

# The SDK's list, which a test compares: a server starts while the SDK is still being imported.
_ON_WINDOWS = (
    "APPDATA HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROCESSOR_ARCHITECTURE SYSTEMDRIVE "
    "SYSTEMROOT TEMP USERNAME USERPROFILE"
)
_ELSEWHERE = "HOME LOGNAME PATH SHELL TERM USER"
INHERITED = tuple((_ON_WINDOWS if sys.platform == "win32" else _ELSEWHERE).split())

MAX_LINE_BYTES = 64 * 1024 * 1024  # a program that writes more is broken or hostile
_CUT_LINE_BYTES = 256
# With more unread lines than this, the program has to wait.
_MAX_UNREAD_LINES = 1000
# Lines taken in a row before other tasks on the event loop get their turn.
_LINES_IN_A_ROW = 20
# The most we buffer for a program that does not read its input.
_MAX_UNREAD_BYTES = 64 * 1024 * 1024

_TERM_GRACE_SECONDS = 1.0  # then SIGKILL
_EXIT_POLL_SECONDS = 0.01  # between two checks whether killed processes have ended
# A process that closed its stdout is usually about to exit; its exit code explains more.
_EXIT_SECONDS = 0.3
# How soon to scan for descendants after output, when the process may have started some, and
# otherwise. Once a parent has died suddenly, nothing shows which children were its own.
_SCAN_AFTER_OUTPUT_SECONDS = 0.2  # not at once: that would slow down the answer, and other starts
_SCAN_SECONDS = 2.0
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
_STDIN, _STDOUT, _STDERR = 0, 1, 2
_PIPE_BYTES = 64 * 1024  # the capacity of a pipe on Linux


def inherited_environment() -> dict[str, str]:
    """Return the variables that a server gets besides those in its settings."""
    values = {name: os.environ.get(name) for name in INHERITED}
    # A shell function, which an old shell would run.
    return {k: v for k, v in values.items() if v is not None and not v.startswith("()")}


class CutLine(bytes):
    """The beginning of a line that was too long."""


class UnfinishedLine(bytes):
    """The last line of a stdout that ended in the middle of a line."""


async def start_process(
    command: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    stderr: StderrLog,
    grace_seconds: float,
) -> ChildProcess:
    """Start a command with only these variables; an empty `cwd` means our own.

    Raises:
        OSError: the command cannot be started.
    """
    program, *arguments = command
    process = ChildProcess(stderr, grace_seconds)
    # Shielded, and quick: either there is a process with all its pipes, which the caller ends, or
    # there is none.
    with anyio.CancelScope(shield=True):
        await asyncio.get_running_loop().subprocess_exec(
            lambda: process,
            shutil.which(program, path=env.get("PATH")) or program,
            *arguments,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=env,
            cwd=cwd or None,
            # An interrupt of the notebook kernel must not reach it, and its children end with it.
            start_new_session=True,
        )
    return process


class ChildProcess(asyncio.SubprocessProtocol):
    """A process in a session of its own, with its stderr in a log.

    `grace_seconds` is how long it may take to end once its stdin is closed. `stdout_ended` and
    `stdin_ended` say that it closed them by itself; in both cases `next_line` ends.
    """

    def __init__(self, stderr: StderrLog, grace_seconds: float) -> None:
        self.stdout_ended = self.stdin_ended = False
        self._stderr = stderr
        self._grace_seconds = grace_seconds
        self._lines: deque[bytes] = deque()
        self._has_line = asyncio.Event()
        self._pieces: list[bytes] = []  # of the line in progress: joined once, so linear in time
        self._size = 0
        self._closing = False
        self._own_exit_code: int | None = None
        self._exited = anyio.Event()
        self._stderr_ended = anyio.Event()
        self._line_count = 0

    @property
    def pid(self) -> int:
        """The process id, which is also the process group's id."""
        return self._transport.get_pid()

    @property
    def exit_code(self) -> int | None:
        """Its own exit code: None while it runs or if we ended it, negative for a signal."""
        return self._own_exit_code if self._closing else self._transport.get_returncode()

    def write(self, line: bytes) -> None:
        """Write one line; never waits.

        Raises:
            BrokenResourceError: its stdin is closed, or it has not read for very long.
        """
        stdin = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(_STDIN))
        if stdin.is_closing() or stdin.get_write_buffer_size() > _MAX_UNREAD_BYTES:
            raise anyio.BrokenResourceError
        stdin.write(line + b"\n")

    async def next_line(self) -> bytes | None:
        """Return the next line of its stdout, or None when there will be no more."""
        self._line_count += 1
        if self._line_count % _LINES_IN_A_ROW == 0:
            await anyio.lowlevel.checkpoint()
        while not self._lines:
            if self.stdout_ended or self._closing:
                return None
            self._has_line.clear()
            await self._has_line.wait()
        line = self._lines.popleft()
        if len(self._lines) == _MAX_UNREAD_LINES // 2:
            self._stdout().resume_reading()
        return line

    async def wait_for_exit(self) -> None:
        """Wait a moment for the exit code and the end of stderr, once stdout has ended."""
        with anyio.move_on_after(_EXIT_SECONDS):
            await self._exited.wait()
            await self._stderr_ended.wait()

    async def end(self, *, in_a_hurry: bool) -> None:
        """End the process and all it started, politely first. Bounded in time, and shielded."""
        with anyio.CancelScope(shield=True):
            await self._end(in_a_hurry)

    async def _end(self, in_a_hurry: bool) -> None:
        self._next_scan.cancel()
        try:
            if self.stdout_ended:
                await self.wait_for_exit()
                in_a_hurry = True  # it has had its time
            self._own_exit_code = self.exit_code
            self._closing = True
            await self._scan_now()
            self._lines.clear()
            # A server that flushes into a full pipe would never see its stdin end.
            self._stdout().resume_reading()
            if (stdin := self._transport.get_pipe_transport(_STDIN)) is not None:
                stdin.close()
            if not await self._exits_within(0.0 if in_a_hurry else self._grace_seconds):
                self._signal_all(signal.SIGTERM)
                await self._exits_within(_TERM_GRACE_SECONDS)
            await self._scan_now()
            self._signal_all(_KILL)
            await self._exits_within(_TERM_GRACE_SECONDS)
            # On a busy machine a signal takes a while.
            with anyio.move_on_after(_TERM_GRACE_SECONDS):
                while self._family.is_running():  # noqa: ASYNC110 - no event marks their end
                    await anyio.sleep(_EXIT_POLL_SECONDS)
        finally:  # the whole event loop may be ending
            self._family.release()
            # A grandchild that left our group may still hold a pipe; we do not wait for it.
            self._transport.close()

    async def _scan_now(self) -> None:
        try:
            await anyio.to_thread.run_sync(self._family.scan)
        except RuntimeError:  # Python is shutting down and starts no more threads
            self._family.scan()

    # Callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start watching the new process."""
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self._family = Family(self.pid)
        loop = asyncio.get_running_loop()
        self._next_scan = loop.call_later(_SCAN_AFTER_OUTPUT_SECONDS, self._scan)
        # Asking for more than a pipe holds, as asyncio does, costs ten times as much as reading.
        self._stdout().max_size = _PIPE_BYTES  # pyright: ignore[reportAttributeAccessIssue]

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Take the bytes that it wrote."""
        if fd == _STDERR:
            self._stderr.feed(data)
        elif not self._closing:
            self._split(data)
            if self._lines:
                self._has_line.set()
            if len(self._lines) > _MAX_UNREAD_LINES:
                self._stdout().pause_reading()
            loop = asyncio.get_running_loop()
            if self._next_scan.when() > (soon := loop.time() + _SCAN_AFTER_OUTPUT_SECONDS):
                self._next_scan.cancel()
                self._next_scan = loop.call_at(soon, self._scan)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Note that one of its pipes was closed."""
        if fd == _STDERR:
            self._stderr.end()
            self._stderr_ended.set()
        elif fd == _STDOUT and not (self._closing or self.stdout_ended):
            if self._size:
                self._lines.append(UnfinishedLine(self._line()))
            self.stdout_ended = True
            self._has_line.set()
        elif fd == _STDIN and not self._closing:
            self.stdin_ended = True
            self._end_of_stdout_soon()

    def process_exited(self) -> None:
        """Note that it ended; descendants may keep its pipes open but do not speak for it."""
        self._exited.set()
        self._end_of_stdout_soon()

    def _end_of_stdout_soon(self) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(_EXIT_SECONDS, self.pipe_connection_lost, _STDOUT, None)

    def _split(self, data: bytes) -> None:
        """Add the lines that these bytes complete, without empty ones."""
        for number, piece in enumerate(data.split(b"\n")):
            if number and self._size:
                self._lines.append(self._line())
            self._size += len(piece)
            if self._size <= MAX_LINE_BYTES:
                self._pieces.append(piece)

    def _line(self) -> bytes:
        line, is_cut = b"".join(self._pieces), self._size > MAX_LINE_BYTES
        self._pieces, self._size = [], 0
        return CutLine(line[:_CUT_LINE_BYTES]) if is_cut else line

    def _scan(self) -> None:
        """Look for descendants in a thread: a machine may have thousands of processes."""
        loop = asyncio.get_running_loop()
        self._next_scan = loop.call_later(_SCAN_SECONDS, self._scan)
        with suppress(RuntimeError):  # Python is shutting down and starts no more threads
            loop.run_in_executor(None, self._family.scan)

    def _stdout(self) -> asyncio.ReadTransport:
        return cast(asyncio.ReadTransport, self._transport.get_pipe_transport(_STDOUT))

    async def _exits_within(self, seconds: float) -> bool:
        with anyio.move_on_after(seconds):
            await self._exited.wait()
        return self._exited.is_set()

    def _signal_all(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._transport.kill()
            else:
                os.killpg(self.pid, number)
        self._family.signal(number)


class Family:
    """Descendants of one process, including those that left its process group.

    A child in a session of its own is not reached through the group, and once its parent has ended
    nothing links the two. So we scan for descendants while the process lives, and pass their groups
    to the guard. A process that detached itself before we looked, as a daemon does, stays: it looks
    like a program that was started for a person, such as a browser.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._members: set[psutil.Process] = set()
        self._groups = {pid}
        self._lock = threading.Lock()
        self._is_over = False
        guard.protect(pid)

    def scan(self) -> None:
        """Find the current descendants. This takes some milliseconds, so it runs in a thread."""
        import psutil  # here: only needed when a process is started

        with self._lock:
            if self._is_over:  # a late thread
                return
            # psutil compares start times, too, because process ids are reused.
            members = {x for x in self._members if x.is_running()}
            for parent in (self._pid, *[x.pid for x in members]):
                with suppress(psutil.Error):
                    members |= set(psutil.Process(parent).children(recursive=True))
            self._members = members
            groups = {self._pid, *(group for x in members if (group := _group_of(x.pid)))}
            if groups != self._groups:
                self._protect(groups)

    def release(self) -> None:
        """Stop guarding the groups, because they were ended."""
        with self._lock:
            self._is_over = True
            self._protect(set())

    def _protect(self, groups: set[int]) -> None:
        guard.protect(*(groups - self._groups))
        guard.release(*(self._groups - groups))
        self._groups = groups

    def is_running(self) -> bool:
        """Return whether a descendant still runs; a zombie does not count."""
        import psutil

        for member in self._members:
            with suppress(psutil.Error):
                if member.is_running() and member.status() != psutil.STATUS_ZOMBIE:
                    return True
        return False

    def signal(self, number: int) -> None:
        """Send a signal to each running descendant, never to another process with a reused id."""
        import psutil

        for member in self._members:
            with suppress(psutil.Error):
                member.send_signal(number)


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except (OSError, AttributeError):  # it has ended, or this is not POSIX
        return None
