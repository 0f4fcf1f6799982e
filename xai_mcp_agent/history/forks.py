"""No file of SQLite's is open while the process is forked: a child would inherit its locks in part.

SQLite, How To Corrupt An SQLite Database File, 2.6: do not carry an open connection across a fork.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager

# A transaction takes milliseconds; one that waits for others is not worth holding a fork up.
_WAIT_SECONDS = 1.0

_all: weakref.WeakSet[ClosedInForks] = weakref.WeakSet()
_here = threading.local()  # what this thread holds while it forks


class ClosedInForks:
    """Guards the use of something that `close` closes, and that opens itself when it is used."""

    def __init__(self, close: Callable[[], None]) -> None:
        self._close = close
        self._lock = threading.RLock()
        _all.add(self)

    @contextmanager
    def used(self) -> Generator[None]:
        """Use it; the process is not forked meanwhile."""
        with self._lock:
            yield

    def hold(self) -> bool:
        """Close it and keep it closed, unless it takes too long until nobody uses it."""
        if not self._lock.acquire(timeout=_WAIT_SECONDS):
            return False
        self._close()
        return True

    def release(self) -> None:
        """Let it be used again."""
        self._lock.release()


def _before() -> None:
    _here.held = [x for x in list(_all) if x.hold()]


def _after() -> None:
    for guard in _here.held:
        guard.release()
    _here.held = []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
