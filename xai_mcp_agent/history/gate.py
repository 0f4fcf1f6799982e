"""One process at a time puts another file in the place of a history; who opens it waits."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

_LOCK_SECONDS = 20.0


@contextmanager
def alone(file: Path) -> Generator[None]:
    """Keep others away from this file; a lock of SQLite's own is one on every system.

    Raises:
        sqlite3.Error: somebody else has it, and does not let go.
    """
    gate = _gate(file)
    with closing(sqlite3.connect(gate, timeout=_LOCK_SECONDS, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield
    gate.unlink(missing_ok=True)


def wait_until_free(file: Path) -> None:
    """Wait while another file is put in its place, if somebody does that; not for ever.

    Whoever opened the old one meanwhile would make files beside it that the new one meets: with
    pages that are not its own, and in one process SQLite cuts off memory that is in use.
    """
    with suppress(sqlite3.Error, OSError):
        if _gate(file).exists():
            with alone(file):
                pass


def _gate(file: Path) -> Path:
    return file.with_name(f"{file.name}.gate")
