"""Processes that tests start or watch, by their number; every wait is bounded."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.warm_python import warm_python

_WAIT_SECONDS = 60.0  # for a child to start or end on a busy machine
_LOOK_SECONDS = 0.02
_PORTS = range(20_000, 32_000)


def wait_until(
    happened: Callable[[], bool],
    what: str,
    seconds: float = _WAIT_SECONDS,
    pause: float = _LOOK_SECONDS,
) -> None:
    """Look again and again until it happened; fail with `what` when the time is over."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what}")
        time.sleep(pause)


def is_running(pid: int) -> bool:
    """Whether there is such a process; one that ended and was not yet collected is not running."""
    try:
        os.kill(pid, 0)
        # Linux tells more; elsewhere the signal's word is taken.
        has_proc = Path("/proc/self/stat").exists()
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii") if has_proc else ""
    except OSError:
        return False
    return not stat.rpartition(")")[2].startswith(" Z")


def pid_in(file: Path) -> int:
    """The number that a server wrote into its pid file, which must be there by now."""
    return int(file.read_text(encoding="ascii"))


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on now, and that no connection is given meanwhile.

    It is below those that systems give away; processes that ask at the same time get others.
    """
    while True:
        port = _PORTS[secrets.randbelow(len(_PORTS))]
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def listens(port: int) -> bool:
    """Whether something accepts connections on this port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def http_server(script: Path) -> Generator[str]:
    """Run an MCP server's file with `--http` for the length of the block; its address."""
    port = free_port()
    child = subprocess.Popen(
        [warm_python(), str(script), "--http", str(port)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_until(lambda: listens(port) or child.poll() is not None, f"{script.name} listens")
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        child.terminate()
        try:
            child.wait(_WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
