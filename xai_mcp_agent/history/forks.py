"""Keeps imports out of forks: a child has the locks on modules, and no thread to release them."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager

# Importing SQLAlchemy takes half a second, and several on a busy machine.
_IMPORT_SECONDS = 10.0
_lock = threading.RLock()
_here = threading.local()  # whether this thread holds the lock while it forks


@contextmanager
def importing() -> Generator[None]:
    """Import libraries; the process is not forked meanwhile."""
    with _lock:
        yield


def _before() -> None:
    _here.is_locked = _lock.acquire(timeout=_IMPORT_SECONDS)


def _after() -> None:
    if _here.is_locked:
        _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
