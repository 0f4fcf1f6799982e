"""Descendants of a child process: found by scans, signalled, and passed to the guard."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from . import guard

if TYPE_CHECKING:
    import psutil


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
