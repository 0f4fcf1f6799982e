"""Child processes, threads and open files of this process: before and after must be equal.

    with no_leaks():
        ...

A kernel or a script counts itself with the same functions, and prints the result.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from .processes import wait_until

_OWN_FILES = Path("/proc/self/fd")
_MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Census:
    """The counts at one moment. `processes` has only the children of this process."""

    processes: Counter[str]
    threads: Counter[str]
    files: Counter[str]
    memory_mb: float

    def more_than(self, before: Census) -> list[str]:
        """Return everything that was not there before, as sentences."""
        pairs = (
            ("process", self.processes - before.processes),
            ("thread", self.threads - before.threads),
            ("file", self.files - before.files),
        )
        return [f"{kind} {what} x {n}" for kind, more in pairs for what, n in sorted(more.items())]


def take_census() -> Census:
    """Return the counts of now."""
    memory = psutil.Process().memory_info().rss / _MEGABYTE
    # The worker threads of a loop live as long as it does, and another loop may start one now.
    # Python keeps a dummy of a thread that it did not start, also after that has ended.
    names = (x.name for x in threading.enumerate())
    threads = Counter(x for x in names if not x.startswith(("asyncio_", "Dummy-")))
    return Census(Counter(_processes()), threads, Counter(_files()), memory)


@contextmanager
def no_leaks() -> Generator[Census]:
    """Require that everything that the block opened is closed soon after it."""
    before = take_census()
    yield before
    try:
        wait_until(lambda: not take_census().more_than(before), "nothing is left")
    except AssertionError:
        raise AssertionError(f"left: {take_census().more_than(before)}") from None


def _processes() -> list[str]:
    """Return each child with its id, and whether it has ended."""
    children: list[str] = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            is_over = child.status() == psutil.STATUS_ZOMBIE
            children.append(
                f"{child.pid} {'(ended)' if is_over else ' '.join(child.cmdline())[:80]}"
            )
    return children


def _files() -> list[str]:
    """Return the open files; pipes and sockets without their numbers, which always change."""
    files: list[str] = []
    for number in os.listdir(_OWN_FILES) if _OWN_FILES.exists() else []:
        with suppress(OSError):  # the one that listed them
            files.append(os.readlink(_OWN_FILES / number).partition(":[")[0])
    return files
