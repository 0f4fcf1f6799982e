"""Translates database errors into a problem and a next step, without passwords."""

from __future__ import annotations

import errno
from typing import Any

from sqlalchemy import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    StatementError,
)

from ..core.errors import StoreFailed
from ..secrets.secrets import MASK
from .backup import sqlite_name
from .place import ENVIRONMENT_VARIABLE, Place
from .tables import UnreadableRow

_ELSEWHERE = f"or name another place with {ENVIRONMENT_VARIABLE} (a file, a URL, or memory)"
_CHECK_URL = f"Correct the URL in {ENVIRONMENT_VARIABLE} or under `store` in the settings file."
_DAMAGED = (
    "The file is damaged.",
    "It is set aside, and its backup takes its place; if that goes on, check the disk.",
)
_NO_ADDRESS = (
    "This is not the address of a database.",
    f"Write postgresql://user:password@host:5432/database. {_CHECK_URL}",
)
_NO_DRIVER = (
    "The driver for PostgreSQL is not installed.",
    'Install it: `pip install "xai-mcp-agent[postgres]"`.',
)
_REACH = f"Start the server, if it is not running. {_CHECK_URL}"
# By the start of SQLite's error name, by its number, and by PostgreSQL's state.
_BY_CODE: dict[tuple[str, ...], tuple[str, str]] = {
    ("SQLITE_FULL", "ENOSPC", "EDQUOT"): ("The disk is full.", f"Make room there, {_ELSEWHERE}."),
    ("SQLITE_READONLY", "SQLITE_PERM", "EACCES", "EPERM", "EROFS"): (
        "It is not writable.",
        f"Make the file and its folder writable, {_ELSEWHERE}.",
    ),
    ("SQLITE_CANTOPEN", "E"): (
        "The file cannot be opened, or its folder cannot be created.",
        f"Make sure that its folder exists and is writable, {_ELSEWHERE}.",
    ),
    ("SQLITE_BUSY", "SQLITE_LOCKED", "55P03"): (
        "Another program keeps it locked.",
        "End that program, or wait until it is done.",
    ),
    ("SQLITE_IOERR",): (
        "The disk failed to write or to read.",
        f"Check whether it is full, over its quota or disconnected, {_ELSEWHERE}.",
    ),
    ("42501",): (
        "This user may not do that.",
        "Allow it to create tables, and to read and write its own.",
    ),
}
_DAMAGES = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
_MISTAKES = (DataError, IntegrityError)


def failure(place: Place, cause: Exception) -> StoreFailed:
    """Return the error for a database error, without statements and their values."""
    return StoreFailed(place.label, *_explained(place, cause))


def not_mended(place: Place) -> StoreFailed:
    """Return the error for a damaged file that could not be replaced."""
    next_step = f"Move it away if it is not needed, {_ELSEWHERE}."
    return StoreFailed(place.label, "The file is damaged, or no database at all.", next_step)


def is_damage(cause: BaseException | None) -> bool:
    """Return whether the content of the file caused the error, so that retries are useless."""
    original = getattr(cause, "orig", cause)
    # These errors come from Python and have no SQLite code: of a text, and of SQLite's message.
    is_no_text = str(original).startswith("Could not decode to UTF-8")
    is_unreadable = is_no_text or isinstance(cause, UnreadableRow | UnicodeDecodeError)
    return is_unreadable or sqlite_name(original).startswith(_DAMAGES)


def is_mistake(cause: Exception) -> bool:
    """Return whether a bug of ours caused the error, such as a value that no database takes."""
    if is_damage(cause):
        return False
    if not isinstance(cause, DBAPIError):
        return isinstance(cause, StatementError)
    # On some network drives another process takes the same position, despite the lock.
    is_clash = isinstance(cause, IntegrityError) and "unique" in str(cause.orig).lower()
    return isinstance(cause, _MISTAKES) and not is_clash


def is_locked(cause: BaseException | None) -> bool:
    """Return whether another process has it locked."""
    return sqlite_name(getattr(cause, "orig", cause)).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _explained(place: Place, cause: Exception) -> tuple[str, str]:
    """Return the problem and the next step, by default the first line of the database's own."""
    if isinstance(cause, ImportError):
        return _NO_DRIVER
    if is_damage(cause):
        return _DAMAGED
    if isinstance(cause, ArgumentError | ValueError):  # its text may contain the password
        return _NO_ADDRESS
    original: Any = cause.orig if isinstance(cause, DBAPIError) else cause
    state = getattr(original, "sqlstate", None)
    code = sqlite_name(original) or state or errno.errorcode.get(getattr(original, "errno", 0), "")
    is_of_server = hasattr(original, "sqlstate")
    for codes, explained in _BY_CODE.items():
        if code and code.startswith(codes):
            return explained
    # Without a state, or with one of these, there is no connection; the text has the reason.
    is_away = is_of_server and (not state or state.startswith(("28", "3D")))
    return _first_line(place, original), _REACH if is_away else ""


def _first_line(place: Place, cause: BaseException) -> str:
    """Return the first line of its text."""
    lines = (line.strip() for line in str(cause).splitlines())
    text = next(filter(None, lines), type(cause).__name__)
    password = make_url(place.url).password
    return (text.replace(str(password), MASK) if password else text).rstrip(".") + "."
