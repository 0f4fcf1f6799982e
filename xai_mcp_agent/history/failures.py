"""Database errors translated into a problem and a next step for a person, without passwords."""

from __future__ import annotations

import errno
from typing import Any

from sqlalchemy import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    SQLAlchemyError,
    StatementError,
)

from ..core.errors import StoreFailed
from ..secrets.secrets import MASK
from .backup import is_passing
from .backup import sqlite_name as _sqlite_name
from .place import ENVIRONMENT_VARIABLE, Place
from .tables import Unreadable

_ELSEWHERE = f"or name another place with {ENVIRONMENT_VARIABLE} (a file, a URL, or memory)"
_CHECK_URL = f"Correct the URL in {ENVIRONMENT_VARIABLE} or under `store` in the settings file."
_DRIVER = '`pip install "xai-mcp-agent[postgres]"`'

_FULL = ("The disk is full.", f"Make room there, {_ELSEWHERE}.")
_READ_ONLY = ("It may not be written.", f"Make the file and its folder writable, {_ELSEWHERE}.")
_NOT_OPENED = (
    "The file cannot be opened or made.",
    f"Make sure that its folder is there and can be written, {_ELSEWHERE}.",
)
_NO_FOLDER = ("Its folder cannot be made.", f"Make it, {_ELSEWHERE}.")
_LOCKED = (
    "Another program has it locked, and does not let go.",
    "End that program, if it is not one that will soon be done.",
)
_DISK = (
    "The disk does not take what is written, or give what is read.",
    f"Look whether it is full, at its limit, or not connected any more, {_ELSEWHERE}.",
)
_DAMAGED = (
    "The file is damaged.",
    "It is set aside, and its backup takes its place; if that goes on, check the disk.",
)
_NO_HISTORY = (
    "The file is damaged, or no database at all.",
    f"Move it away if it is not needed, {_ELSEWHERE}.",
)
_TOGETHER = (
    "Two processes wrote at the same moment, though it is locked for one.",
    f"On a network disk locks may not work. Keep it on a disk of this machine, {_ELSEWHERE}.",
)
_BY_SQLITE_NAME = {
    "SQLITE_FULL": _FULL,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_PERM": _READ_ONLY,
    "SQLITE_CANTOPEN": _NOT_OPENED,
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_LOCKED": _LOCKED,
    "SQLITE_IOERR": _DISK,
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_NOTADB": _DAMAGED,
    "SQLITE_CONSTRAINT": _TOGETHER,
}
_BY_ERROR_NUMBER = {
    errno.EACCES: _READ_ONLY,
    errno.EPERM: _READ_ONLY,
    errno.EROFS: _READ_ONLY,
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
}
_REFUSED = ("The server does not accept this user and password.", _CHECK_URL)
_NO_DATABASE = ("The server has no database of that name.", f"Make it (createdb). {_CHECK_URL}")
_STOPPING = ("The server is stopping or starting.", "Start it, if nobody else does.")
_UNREACHABLE = ("No database server answers there.", f"Start it. {_CHECK_URL}")
_BY_SQL_STATE = {
    "28P01": _REFUSED,
    "28000": _REFUSED,
    "3D000": _NO_DATABASE,
    "42501": ("This user may not do that.", "Let it make tables, and read and write its own."),
    "53100": ("The disk of the server is full.", "Make room there."),
    "53300": ("The server has too many connections.", "Raise its limit (max_connections)."),
    "23505": ("Two processes wrote at the same moment.", "It is tried again."),
    "55P03": _LOCKED,
    "57P01": _STOPPING,
    "57P02": _STOPPING,
    "57P03": _STOPPING,
    "25006": ("The server can only be read from.", "Name its primary server."),
}
# Of connections that were not made there is only a text, the server's or that of the C library.
_BY_WORDS = (
    ("password", _REFUSED),
    ("authentication", _REFUSED),
    ("pg_hba", _REFUSED),
    ("role ", _REFUSED),
    ("database ", _NO_DATABASE),
    ("starting up", _STOPPING),
    ("shutting down", _STOPPING),
    ("too many", _BY_SQL_STATE["53300"]),
    ("resolve", ("There is no host of that name.", _CHECK_URL)),
    ("translate host", ("There is no host of that name.", _CHECK_URL)),
    ("timeout", _UNREACHABLE),
    ("refused", _UNREACHABLE),
    ("unreachable", _UNREACHABLE),
    ("no such file", _UNREACHABLE),
)
# Only where locks do not keep others out is a row there that was to be added.
_TAKEN = ("SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_UNIQUE", "23505")
_DAMAGES = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


def failure(place: Place, cause: Exception) -> StoreFailed:
    """What went wrong with a database, without statements and their values."""
    problem, next_step = _told(place, cause)
    return StoreFailed(place.shown, problem, next_step)


def not_mended(place: Place) -> StoreFailed:
    """What to say of damage where nothing could be done about it."""
    return StoreFailed(place.shown, *_NO_HISTORY)


def is_damage(cause: BaseException | None) -> bool:
    """Whether it came of what is in the file, so that it will not get better by itself."""
    original = getattr(cause, "orig", cause)
    # Python's own words about a text, which have no code of SQLite's.
    is_no_text = str(original).startswith("Could not decode to UTF-8")
    is_named = _sqlite_name(original).startswith(_DAMAGES)
    return isinstance(cause, Unreadable) or is_named or is_no_text


def may_be_damage(cause: SQLAlchemyError) -> bool:
    """Whether the database's own error may come of what is in the file; only a look at it tells."""
    is_own = isinstance(cause, DBAPIError)
    return is_own and not is_damage(cause) and not is_passing(cause.orig)


def is_mistake(cause: SQLAlchemyError) -> bool:
    """Whether it was given what no database takes, so that nothing is wrong with this one."""
    if isinstance(cause, DBAPIError):
        return isinstance(cause, (DataError, IntegrityError)) and not _is_taken(cause.orig)
    return isinstance(cause, StatementError)


def is_locked(cause: BaseException | None) -> bool:
    """Whether somebody else was in the way."""
    return _sqlite_name(getattr(cause, "orig", cause)).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _is_taken(original: Any) -> bool:
    return (_sqlite_name(original) or getattr(original, "sqlstate", None)) in _TAKEN


def _told(place: Place, cause: Exception) -> tuple[str, str]:
    if isinstance(cause, ImportError):
        return "The driver for PostgreSQL is not installed.", f"Install it: {_DRIVER}."
    if isinstance(cause, (ArgumentError, ValueError)):  # whose text may have the password in it
        return "This is no address of a database.", (
            f"Write postgresql://user:password@host:5432/database. {_CHECK_URL}"
        )
    if isinstance(cause, OSError):
        return _BY_ERROR_NUMBER.get(cause.errno or 0, _NO_FOLDER)
    if isinstance(cause, Unreadable):
        return _DAMAGED
    original = cause.orig if isinstance(cause, DBAPIError) else None
    known = _of_sqlite(original) or _of_postgresql(cause, original)
    return known or (_line(place, original or cause), "")


def _of_sqlite(original: Any) -> tuple[str, str] | None:
    name = _sqlite_name(original)
    # The detailed codes begin with the name of what they are a kind of.
    return next((x for start, x in _BY_SQLITE_NAME.items() if name.startswith(start)), None)


def _of_postgresql(cause: Exception, original: Any) -> tuple[str, str] | None:
    if state := getattr(original, "sqlstate", None):
        return _BY_SQL_STATE.get(state)
    if not hasattr(original, "sqlstate"):
        return None
    words = str(original).lower()
    known = (x for mark, x in _BY_WORDS if mark in words)
    if isinstance(cause, DBAPIError) and cause.connection_invalidated:
        return "The connection to the server was lost.", "Start it, if it is not there any more."
    return next(known, None)


def _line(place: Place, cause: BaseException) -> str:
    """The first line of what it says of itself."""
    lines = (line.strip() for line in str(cause).splitlines())
    text = next(filter(None, lines), type(cause).__name__)
    try:
        password = make_url(place.url).password
    except (SQLAlchemyError, ValueError):
        return type(cause).__name__
    return f"{text.replace(str(password), MASK) if password else text}".rstrip(".") + "."
