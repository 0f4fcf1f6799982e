"""A regular copy of an SQLite file beside it: what a damaged one is mended with first."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

from ..secrets.private_files import open_private
from .forks import ClosedInForks
from .integrity import OF_FILES, is_file_intact, is_history, is_passing, open_to_look
from .tables import log_rows

logger = logging.getLogger(__name__)

_EVERY_SECONDS = 24 * 3600.0
# Copied in a second or two, in which nothing else is written down.
_LARGEST_BYTES = 512 * 2**20
# Looked through row by row, some ten thousand in a second; a larger one page by page.
_LARGEST_WITH_ROWS = 16 * 2**20
_LOCK_SECONDS = 5.0
_COMPARED = 20  # of the newest rows of a copy
_in_forks = ClosedInForks(lambda: None)  # a fork waits for a copy that is being made


def backup_of(file: Path) -> Path:
    """Where the copy of a file is."""
    return file.with_name(f"{file.name}.backup")


def is_due(file: Path) -> bool:
    """Whether there is none of this day. One from the future is from before a clock was set."""
    try:
        return not 0 <= time.time() - backup_of(file).stat().st_mtime < _EVERY_SECONDS
    except OSError:
        return file.exists()


def back_up(file: Path) -> bool:
    """Copy a file as it is now, for its owner only. False if it is damaged: the last one stays.

    One that is too large is not copied, nor where there is no room; the log says so.
    """
    new = file.with_name(f"{file.name}.backup-{os.getpid()}")
    try:
        if file.stat().st_size > _LARGEST_BYTES:
            logger.info("%s is not backed up: it has more than %s bytes.", file, _LARGEST_BYTES)
            return True
        new.unlink(missing_ok=True)
        os.close(open_private(new, os.O_RDWR | os.O_CREAT | os.O_EXCL))
        with _in_forks.used():
            is_intact = _copy(file, new)
        if is_intact:
            os.replace(new, backup_of(file))
        return is_intact
    except (OSError, *OF_FILES) as reason:
        logger.info("%s is not backed up: %s", file, reason)
        return True
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def forget_backup(file: Path) -> None:
    """Remove it: nothing of what was forgotten, or of a file that was deleted, may be left."""
    with suppress(OSError):
        backup_of(file).unlink(missing_ok=True)


def belongs_to(backup: sqlite3.Connection, damaged: sqlite3.Connection) -> bool:
    """Whether a copy is of this file, and not of another one that had its name before.

    It is where nobody can tell; what is damaged here and there is another row, but not each.
    """
    query = f"SELECT * FROM {log_rows.name} ORDER BY project, position DESC LIMIT {_COMPARED}"
    is_it = f"SELECT * FROM {log_rows.name} WHERE project = ? AND position = ?"
    has_other = False
    try:
        if not is_history(damaged):
            return True
        for row in backup.execute(query).fetchall():
            found = damaged.execute(is_it, row[:2]).fetchone()
            if found == row:
                return True
            has_other |= found is not None
    except OF_FILES:
        return True
    return not has_other


def _copy(file: Path, new: Path) -> bool:
    with closing(open_to_look(file)) as source:
        source.execute(f"PRAGMA busy_timeout={int(_LOCK_SECONDS * 1000)}")
        with closing(sqlite3.connect(new)) as copy:
            try:
                source.backup(copy)
                copy.execute("PRAGMA journal_mode=DELETE")
            except OF_FILES as cause:
                if is_passing(cause):
                    raise
                return False
    return is_file_intact(new, with_rows=new.stat().st_size <= _LARGEST_WITH_ROWS)
