"""Daily copy of an SQLite file beside it, which replaces a damaged file."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import stat
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from ..secrets.private_files import file_lock, open_private
from .place import Place, identity_of

logger = logging.getLogger(__name__)

_EVERY_SECONDS = 24 * 3600.0
_LARGEST_BYTES = 512 * 2**20  # copied in a second or two, which block writers
_LOCK_SECONDS = 20.0
_BUSY_SECONDS = 5.0  # wait for another connection's transaction
# Errors that do not mean damage: locked, disk full, disk away.
_PASSING = (
    "SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN",
    "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_NOMEM", "SQLITE_INTERRUPT",
)  # fmt: skip


def sqlite_name(cause: Any) -> str:
    """Return SQLite's name of an error; "" for other errors."""
    return getattr(cause, "sqlite_errorname", None) or ""


def is_passing(cause: Any) -> bool:
    """Return whether an SQLite error may be temporary, not damage."""
    return sqlite_name(cause).startswith(_PASSING)


def is_sound(file: Path) -> bool:
    """Return whether SQLite finds every page in order; 200 MB take a third of a second.

    Raises:
        sqlite3.Error: it cannot be checked now.
    """
    try:
        with closing(_open_to_look(file)) as connection:
            return connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
    # a message may quote bytes that are not text
    except (sqlite3.Error, UnicodeDecodeError) as cause:
        if is_passing(cause):
            raise
        return False


def backup_of(file: Path) -> Path:
    """Return the path of a file's copy."""
    return file.with_name(f"{file.name}.backup")


def is_due(file: Path) -> bool:
    """Return whether the last backup is a day old (or from the future: a clock was set back)."""
    try:
        return not 0 <= time.time() - backup_of(file).stat().st_mtime < _EVERY_SECONDS
    except OSError:
        return file.exists()


def back_up(file: Path) -> bool:
    """Copy a file, readable by its owner only. Return False if it is damaged: the last copy stays.

    A file that is too large, or does not fit on the disk, is not copied, with a log message.
    """
    new = file.with_name(f"{file.name}.backup-{os.getpid()}")
    try:
        if file.stat().st_size > _LARGEST_BYTES:
            logger.info("%s is not backed up: it has more than %s bytes.", file, _LARGEST_BYTES)
            return True
        new.unlink(missing_ok=True)
        os.close(open_private(new, os.O_RDWR | os.O_CREAT | os.O_EXCL))
        with closing(_open_to_look(file)) as source, closing(sqlite3.connect(new)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")
        if not is_sound(new):
            return False
        os.replace(new, backup_of(file))
    except (OSError, sqlite3.Error, UnicodeDecodeError) as reason:
        if isinstance(reason, sqlite3.DatabaseError) and not is_passing(reason):
            return False
        logger.info("%s is not backed up: %s", file, reason)
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)
    return True


def forget_backup(file: Path) -> None:
    """Remove the backup, which may contain forgotten rows."""
    with suppress(OSError):
        backup_of(file).unlink(missing_ok=True)


def set_aside(place: Place, damaged: tuple[int, int] | None) -> bool:
    """Replace a damaged file with the backup, or an empty file; return False if that failed.

    Another process may have done it already. A configured file without a backup is never replaced:
    it may be anything.
    """
    file = place.file
    if file is None or damaged is None or not (place.is_own or backup_of(file).exists()):
        return False
    try:
        with file_lock(_gate(file), _LOCK_SECONDS):
            if identity_of(file) == damaged:
                _replace(place, file)
            _gate(file).unlink(missing_ok=True)
    except (OSError, sqlite3.Error) as reason:
        logger.warning("%s is damaged, and cannot be set aside: %s", place.label, reason)
        return False
    return True


def wait_until_free(file: Path) -> None:
    """Wait, for a limited time, while another process replaces the file.

    Files beside the old one must not meet the new one: SQLite would write them into it.
    """
    if _gate(file).exists():
        with suppress(OSError), file_lock(_gate(file), _LOCK_SECONDS):
            pass


def _replace(place: Place, file: Path) -> None:
    aside = file.with_name(f"{file.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    new, backup = file.with_name(f"{file.name}.new"), backup_of(file)
    new.unlink(missing_ok=True)
    os.close(open_private(new, os.O_RDWR | os.O_CREAT | os.O_EXCL))
    is_restored = backup.exists() and is_sound(backup)
    if is_restored:
        shutil.copyfile(backup, new)
    else:
        forget_backup(file)
    new.chmod(stat.S_IMODE(file.stat().st_mode))
    for ending in ("-wal", "-shm", ""):  # a new file must not meet the old one's side files
        with suppress(FileNotFoundError):
            os.rename(f"{file}{ending}", f"{aside}{ending}")
    os.replace(new, file)
    logger.warning(
        "The history in %s was damaged. It is set aside as %s. %s",
        file,
        aside.name,
        "Its backup takes its place." if is_restored else "A new one is started.",
    )


def _gate(file: Path) -> Path:
    return file.with_name(f"{file.name}.gate")


def _open_to_look(file: Path) -> sqlite3.Connection:
    """Open a second connection: closing a plain descriptor of the file would release locks."""
    wait_until_free(file)
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
