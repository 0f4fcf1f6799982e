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
from .backup import is_passing, sqlite_name
from .place import ENVIRONMENT_VARIABLE, Place
from .tables import Unreadable

_ELSEWHERE = f"or name another place with {ENVIRONMENT_VARIABLE} (a file, a URL, or memory)"
_CHECK_URL = f"Correct the URL in {ENVIRONMENT_VARIABLE} or under `store` in the settings file."

_FULL = ("The disk is full.", f"Make room there, {_ELSEWHERE}.")
_READ_ONLY = ("It may not be written.", f"Make the file and its folder writable, {_ELSEWHERE}.")
_LOCKED = (
    "Another program has it locked, and does not let go.",
    "End that program, if it is not one that will soon be done.",
)
_DAMAGED = (
    "The file is damaged.",
    "It is set aside, and its backup takes its place; if that goes on, check the disk.",
)
# The detailed names begin with that of what they are a kind of.
_BY_SQLITE_NAME = {
    "SQLITE_FULL": _FULL,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_PERM": _READ_ONLY,
    "SQLITE_CANTOPEN": (
        "The file cannot be opened or made.",
        f"Make sure that its folder is there and can be written, {_ELSEWHERE}.",
    ),
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_LOCKED": _LOCKED,
    "SQLITE_IOERR": (
        "The disk does not take what is written, or give what is read.",
        f"Look whether it is full, at its limit, or not connected any more, {_ELSEWHERE}.",
    ),
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_NOTADB": _DAMAGED,
    "SQLITE_CONSTRAINT": (
        "Two processes wrote at the same moment, though it is locked for one.",
        f"On a network disk locks may not work. Keep it on a disk of this machine, {_ELSEWHERE}.",
    ),
}
_BY_ERROR_NUMBER = {
    errno.EACCES: _READ_ONLY, errno.EPERM: _READ_ONLY, errno.EROFS: _READ_ONLY,
    errno.ENOSPC: _FULL, errno.EDQUOT: _FULL,
}  # fmt: skip
_REFUSED = ("The server does not accept this user and password.", _CHECK_URL)
_NO_DATABASE = ("The server has no database of that name.", f"Make it (createdb). {_CHECK_URL}")
_NO_HOST = ("There is no host of that name.", _CHECK_URL)
_UNREACHABLE = ("No database server answers there.", f"Start it. {_CHECK_URL}")
_BY_SQL_STATE = {
    "28P01": _REFUSED,
    "28000": _REFUSED,
    "3D000": _NO_DATABASE,
    "42501": ("This user may not do that.", "Let it make tables, and read and write its own."),
    "55P03": _LOCKED,
}
# Of connections that were not made there is only a text, the server's or that of the C library.
_BY_WORDS = {
    "password": _REFUSED, "authentication": _REFUSED, "pg_hba": _REFUSED, "role ": _REFUSED,
    "database ": _NO_DATABASE, "resolve": _NO_HOST, "translate host": _NO_HOST,
    "timeout": _UNREACHABLE, "refused": _UNREACHABLE, "unreachable": _UNREACHABLE,
    "no such file": _UNREACHABLE,
}  # fmt: skip
# Only where locks do not keep others out is a row there that was to be added.
_TAKEN = ("SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_UNIQUE", "23505")
_DAMAGES = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


def failure(place: Place, cause: Exception) -> StoreFailed:
    """What went wrong with a database, without statements and their values."""
    return StoreFailed(place.shown, *_explained(place, cause))


def not_mended(place: Place) -> StoreFailed:
    """The error for a damaged file that could not be replaced."""
    next_step = f"Move it away if it is not needed, {_ELSEWHERE}."
    return StoreFailed(place.shown, "The file is damaged, or no database at all.", next_step)


def is_damage(cause: BaseException | None) -> bool:
    """Whether it came of what is in the file, so that it will not get better by itself."""
    original = getattr(cause, "orig", cause)
    # Python's own words about a text, which have no code of SQLite's.
    is_no_text = str(original).startswith("Could not decode to UTF-8")
    is_named = sqlite_name(original).startswith(_DAMAGES)
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
    return sqlite_name(getattr(cause, "orig", cause)).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _is_taken(original: Any) -> bool:
    return (sqlite_name(original) or getattr(original, "sqlstate", None)) in _TAKEN


def _explained(place: Place, cause: Exception) -> tuple[str, str]:
    """The problem and the next step; without one of ours, the first line of the database's own."""
    if isinstance(cause, ImportError):
        install = 'Install it: `pip install "xai-mcp-agent[postgres]"`.'
        return "The driver for PostgreSQL is not installed.", install
    if isinstance(cause, (ArgumentError, ValueError)):  # whose text may have the password in it
        form = "Write postgresql://user:password@host:5432/database."
        return "This is no address of a database.", f"{form} {_CHECK_URL}"
    if isinstance(cause, OSError):
        no_folder = ("Its folder cannot be made.", f"Make it, {_ELSEWHERE}.")
        return _BY_ERROR_NUMBER.get(cause.errno or 0, no_folder)
    if isinstance(cause, Unreadable):
        return _DAMAGED
    original: Any = cause.orig if isinstance(cause, DBAPIError) else None
    name = sqlite_name(original)
    known = (x for start, x in _BY_SQLITE_NAME.items() if name.startswith(start))
    if explained := next(known, None):
        return explained
    if isinstance(cause, DBAPIError) and hasattr(original, "sqlstate"):
        words = str(original).lower()
        if state := _BY_SQL_STATE.get(original.sqlstate or ""):
            return state
        if cause.connection_invalidated:
            lost = "The connection to the server was lost."
            return lost, "Start it, if it is not there any more."
        if not original.sqlstate and (mark := next(filter(words.__contains__, _BY_WORDS), "")):
            return _BY_WORDS[mark]
    return _line(place, original or cause), ""


def _line(place: Place, cause: BaseException) -> str:
    """The first line of what it says of itself."""
    lines = (line.strip() for line in str(cause).splitlines())
    text = next(filter(None, lines), type(cause).__name__)
    try:
        password = make_url(place.url).password
    except (SQLAlchemyError, ValueError):
        return type(cause).__name__
    return f"{text.replace(str(password), MASK) if password else text}".rstrip(".") + "."
