"""Keeps imports and the opening of databases out of forks.

A child inherits the locks of modules, and SQLite's own, and no thread to release them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

# Importing SQLAlchemy takes half a second, and several on a busy machine.
_IMPORT_SECONDS = 10.0
_lock = threading.RLock()
_here = threading.local()  # whether this thread holds the lock while it forks
_others: list[tuple[Callable[[], None], Callable[[], None]]] = []


@contextmanager
def unforked() -> Generator[None]:
    """Prevent forks within the block, while libraries are imported or a database is opened."""
    with _lock:
        yield


def at_fork(before: Callable[[], None], after: Callable[[], None]) -> None:
    """Register functions for each fork; `before` runs when no import or opening is under way."""
    _others.append((before, after))


def _before() -> None:
    _here.is_locked = _lock.acquire(timeout=_IMPORT_SECONDS)
    for before, _ in _others:
        before()


def _after() -> None:
    for _, after in _others:
        after()
    if _here.is_locked:
        _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
