"""Processes that tests start or watch, and their ports; every wait has a limit."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_WAIT_SECONDS = 60.0  # for a child to start or end on a busy machine
_LOOK_SECONDS = 0.02
_PORTS = range(20_000, 32_000)
_NOBODY = 65534


def wait_until(
    condition: Callable[[], bool],
    what: str,
    seconds: float = _WAIT_SECONDS,
    pause: float = _LOOK_SECONDS,
) -> None:
    """Poll until the condition holds; fail with `what` when the time is over."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what}")
        time.sleep(pause)


def is_running(pid: int) -> bool:
    """Return whether the process runs; one that has ended and waits for its parent does not."""
    try:
        os.kill(pid, 0)
        # On Linux /proc also shows whether it has ended.
        has_proc = Path("/proc/self/stat").exists()
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii") if has_proc else ""
    except OSError:
        return False
    return not stat.rpartition(")")[2].startswith(" Z")


def printed_without_rights(work: Callable[[], object]) -> str:
    """Return what this prints in a fork of this process, as a user without any rights."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        if os.getuid() == 0:  # who can read and write everywhere
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
        with open(writing, "w", encoding="utf-8") as sys.stdout, suppress(SystemExit):
            work()
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        output = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return output


def pid_in(file: Path) -> int:
    """Return the process id in a pid file."""
    return int(file.read_text(encoding="ascii"))


def free_port() -> int:
    """Return a free port of 127.0.0.1, below those that systems give to connections.

    It is random, so that processes that ask at the same time get different ones.
    """
    while True:
        port = _PORTS[secrets.randbelow(len(_PORTS))]
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def listens(port: int) -> bool:
    """Return whether something accepts connections on this port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def listening_process(
    command: Sequence[str], port: int, seconds: float = _WAIT_SECONDS
) -> Generator[subprocess.Popen[bytes]]:
    """Run a program that listens on this port, until the end of the block at the latest.

    Raises:
        AssertionError: it ends at once, or does not listen within these seconds.
    """
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        what = f"a process listens on port {port}: {' '.join(command)}"
        wait_until(lambda: listens(port) or child.poll() is not None, what, seconds)
        assert child.poll() is None, f"it ended at once: {' '.join(command)}"
        yield child
    finally:
        child.kill()  # a signal to end would wait for open streams
        child.wait(_WAIT_SECONDS)


# Journals of servers: what they did, their processes, and the calls that arrived


def lines_in(journal: Path) -> list[str]:
    """Return the lines that were written so far."""
    return journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []


def pids_in(journal: Path) -> list[int]:
    """Return the servers that were started, and what they started."""
    processes = (x for x in lines_in(journal) if x.startswith(("pid ", "child ")))
    return [int(x.split()[1]) for x in processes]


def none_runs(journal: Path) -> bool:
    """Return whether all of them have ended."""
    return not any(is_running(pid) for pid in pids_in(journal))


def calls_in(journal: Path) -> int:
    """Return the number of calls that arrived so far."""
    return journal.read_text(encoding="utf-8").count("tools/call ") if journal.exists() else 0
