"""Keeps SQLite files and imports out of forks: both are finished or closed before a fork.

A file of SQLite's is not open then: a child would inherit its locks in part (How To Corrupt An
SQLite Database File, 2.6). Nor are libraries being imported: a child has the locks on them, and
no thread that could ever give those back.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager

# A transaction takes milliseconds; one that waits for others is not worth holding a fork up.
_USE_SECONDS = 1.0
# Importing SQLAlchemy takes half a second, and several on a busy machine.
_IMPORT_SECONDS = 10.0

_all: weakref.WeakSet[ClosedInForks] = weakref.WeakSet()
# Of whoever imports, adds to `_all`, or forks.
_lock = threading.RLock()
_here = threading.local()  # what this thread holds while it forks


class ClosedInForks:
    """Guards the use of something that `close` closes, and that opens itself when it is used."""

    def __init__(self, close: Callable[[], None]) -> None:
        self._close = close
        self._lock = threading.RLock()
        with _lock:
            _all.add(self)

    @contextmanager
    def used(self) -> Generator[None]:
        """Use it; the process is not forked meanwhile."""
        with self._lock:
            yield

    def hold(self) -> bool:
        """Close it and keep it closed, unless it takes too long until nobody uses it."""
        if not self._lock.acquire(timeout=_USE_SECONDS):
            return False
        self._close()
        return True

    def release(self) -> None:
        """Let it be used again."""
        self._lock.release()


@contextmanager
def importing() -> Generator[None]:
    """Import libraries; the process is not forked meanwhile."""
    with _lock:
        yield


def _before() -> None:
    _here.is_locked = _lock.acquire(timeout=_IMPORT_SECONDS)  # first: then there are no new ones
    _here.held = [x for x in list(_all) if x.hold()]


def _after() -> None:
    for guard in _here.held:
        guard.release()
    if _here.is_locked:
        _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
