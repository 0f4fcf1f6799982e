"""Database of a history: opened, maintained, and used one transaction at a time."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, insert, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from ..core.errors import StoreFailed
from ..secrets.private_files import open_private
from .backup import (
    back_up,
    backup_of,
    forget_backup,
    is_due,
    is_passing,
    is_sound,
    set_aside,
    wait_until_free,
)
from .database import LOCK_SECONDS, engine_for, for_reading, for_writing, lock
from .event import Project
from .failures import failure, is_damage, is_locked, is_mistake, not_mended
from .forks import at_fork, unforked
from .place import KINDS, SWITCHED_OFF, Place, identity_of, project_of
from .tables import UnreadableRow, facts, metadata, projects

_VERSION = 10
"""Version of the tables. There are no migrations before the first release."""

# Processes that create a database at the same moment lock each other out.
_OPENING_PAUSE_SECONDS = 0.1
_TRACES_MS = 2000  # longer than most readers take
_FORK_SECONDS = 1.0  # a transaction takes milliseconds, unless it waits for others
_REPLACED = "The file was deleted, or replaced, while it was in use."
_GOES_ON = "From now on, events go into the new file."
_UPDATE = (
    "Update this one, too: pip install --upgrade xai-mcp-agent. Or name another place with "
    "XAI_MCP_STORE."
)
_MOVE = "Move the file away; it was made before the first release."


class NoHistory(StoreFailed):
    """The place has no history, or none of this project but of other `projects`."""

    projects: tuple[str, ...] = ()


class Store:
    """An open database, and this project's number in it. Used by one thread.

    A store that `is_to_read` is never changed: its file need not be writable.
    """

    def __init__(self, place: Place, engine: Engine, *, is_to_read: bool = False) -> None:
        self.place = place
        self.is_to_read = is_to_read
        self.is_damaged = False
        """Whether the file is damaged; the next process that opens it replaces it."""
        self._engine = engine
        self._in_use = threading.RLock()
        self._file: tuple[int, int] | None = None
        self._opened: int | None = None
        _open_stores.add(self)
        with self._connected():
            self._file = identity_of(place.file)
        with self.reading() as connection:
            project = self._project(connection) if self._has_tables(connection) else None
        if project is None:
            if is_to_read:
                raise self._no_history()
            with self.writing() as connection:
                project = self._create(connection)
        self.project, self.project_id = project
        self._opened = self.project_id

    @property
    def is_usable(self) -> bool:
        """Return whether it may recover by itself; otherwise it must be opened again."""
        return not self.is_damaged and self._file == identity_of(self.place.file)

    @contextmanager
    def writing(self, *, everything: bool = False) -> Generator[Connection]:
        """Run a transaction that excludes other writers: all of it is stored, or nothing.

        It excludes writers of this project; with `everything`, which is for data that projects
        share, writers of any project.

        Raises:
            StoreFailed: the database failed; nothing of the transaction was stored.
        """
        with self._connected() as connection, for_writing(connection).begin():
            lock(connection, None if everything else self._opened)
            yield connection
            # At the end: a process that replaces the file excludes writers meanwhile.
            self._check_file()

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """Run a transaction that sees one state of the database throughout.

        Raises:
            StoreFailed: the database failed.
        """
        self._check_file()
        with self._connected() as connection, for_reading(connection).begin():
            yield connection

    def back_up_if_due(self) -> None:
        """Back up the file, if the last backup is a day old.

        Raises:
            StoreFailed: the file is damaged; the next process that opens it replaces it.
        """
        file = self.place.file
        if file is None or self.is_to_read or not is_due(file):
            return
        with self._in_use:  # a child forked in the middle could not open a database
            is_copied = back_up(file)
        if not is_copied:
            self.is_damaged = True
            raise failure(self.place, UnreadableRow("A page differs from what was written."))

    def clear_traces(self) -> None:
        """Remove the backup and the write-ahead log, which may contain removed rows."""
        if self.place.file is not None:
            forget_backup(self.place.file)
        self._run_if_idle("PRAGMA wal_checkpoint(TRUNCATE)")

    def shrink(self) -> None:
        """Return the space of removed rows to the disk, unless the file is in use."""
        self._run_if_idle("VACUUM")
        self.clear_traces()

    def close(self) -> None:
        """Close the database. A damaged one is set aside."""
        self._engine.dispose()
        if self.is_damaged:
            _set_aside(self.place, self._file, self.is_to_read)

    def before_fork(self) -> bool:
        """Close the file before a fork; return False if a transaction is still running.

        SQLite: an open connection must not be carried across a fork.
        """
        if not self._in_use.acquire(timeout=_FORK_SECONDS):
            return False
        if self.place.file is not None:
            self._engine.dispose()
        return True

    def after_fork(self) -> None:
        """Allow transactions again."""
        self._in_use.release()

    def _run_if_idle(self, statement: str) -> None:
        """Run a statement on the file, unless it would have to wait for long."""
        if self.place.file is not None:
            with suppress(StoreFailed), self._connected() as connection:
                raw: Any = connection.connection.dbapi_connection
                raw.execute(f"PRAGMA busy_timeout={_TRACES_MS}")
                raw.execute(statement)
                raw.execute(f"PRAGMA busy_timeout={LOCK_SECONDS * 1000}")

    def _check_file(self) -> None:
        if self._file != identity_of(self.place.file):
            raise StoreFailed(self.place.label, _REPLACED, _GOES_ON)

    @contextmanager
    def _connected(self) -> Generator[Connection]:
        try:
            with self._in_use, self._engine.connect() as connection:
                yield connection
        except (SQLAlchemyError, UnicodeDecodeError) as raised:
            self.is_damaged |= is_damage(raised) or self._fails_check(raised)
            if not self.is_damaged and is_mistake(raised):
                raise
            cause = UnreadableRow("The file is damaged.") if self.is_damaged else raised
            raise failure(self.place, cause) from cause

    def _fails_check(self, raised: Exception) -> bool:
        """Return whether SQLite finds the file damaged after an error that may come from it."""
        original = getattr(raised, "orig", None)  # None for a mistake of ours
        if self.place.file is None or original is None or is_passing(original):
            return False
        with suppress(sqlite3.Error):
            return not is_sound(self.place.file)
        return False

    def _has_tables(self, connection: Connection) -> bool:
        """Return whether our tables exist.

        Raises:
            StoreFailed: another version of this library made them.
        """
        if not inspect(connection).has_table(facts.name):
            if self.place.file is not None and backup_of(self.place.file).exists():
                raise UnreadableRow("There is a backup of a history, but no history.")
            return False
        query = select(facts.c.value).where(facts.c.name == "version")
        version = connection.execute(query).scalar()
        if version is None or not version.isdigit():
            raise UnreadableRow("The history does not state its version.")
        if int(version) != _VERSION:
            is_newer = int(version) > _VERSION
            problem = (
                f"It was made by {'a newer' if is_newer else 'an older'} version of this library."
            )
            raise StoreFailed(self.place.label, problem, _UPDATE if is_newer else _MOVE)
        return True

    def _create(self, connection: Connection) -> tuple[Project, int]:
        if not self._has_tables(connection):
            metadata.create_all(connection)
            connection.execute(insert(facts).values(name="version", value=str(_VERSION)))
        if (project := self._project(connection)) is not None:
            return project
        here = project_of(self.place.folder, self.place.project)
        query = insert(projects).values(repo_hash=here.repo_hash, name=here.name)
        return here, connection.execute(query.returning(projects.c.id)).scalar_one()

    def _project(self, connection: Connection) -> tuple[Project, int] | None:
        """Return the project of the place's folder. A folder's own store remembers its project."""
        place = self.place
        is_any = (place.is_own or place.any_project) and not place.project
        rows = connection.execute(select(projects).order_by(projects.c.id)).all()
        here = project_of(place.folder, place.project).repo_hash
        mine = [x for x in rows if x.repo_hash == here] or (rows if is_any else ())
        return (Project(mine[0].name, mine[0].repo_hash), mine[0].id) if mine else None

    def _no_history(self) -> NoHistory:
        with self.reading() as connection:
            query = select(projects.c.name)
            has_tables = self._has_tables(connection)
            return no_history(self.place, connection.execute(query).scalars() if has_tables else ())


_MOST_NAMES = 20
_open_stores: weakref.WeakSet[Store] = weakref.WeakSet()
_closed_for_fork: list[Store] = []


def _before_fork() -> None:
    _closed_for_fork[:] = [x for x in tuple(_open_stores) if x.before_fork()]


def _after_fork() -> None:
    for store in _closed_for_fork:
        store.after_fork()
    _closed_for_fork.clear()


at_fork(_before_fork, _after_fork)


def no_history(place: Place, names: Iterable[str] = ()) -> NoHistory:
    """Return the error about a missing project, with the names of the existing ones."""
    project = project_of(place.folder, place.project).name
    existing = tuple(sorted(names)[:_MOST_NAMES])
    next_step = "Name another place."
    if existing:
        next_step = f"It has: {', '.join(existing)}. Name one in XAI_MCP_PROJECT."
    problem = f"There is no history of the project {project!r} in it."
    reason = NoHistory(place.label, problem, next_step)
    reason.projects = existing
    return reason


def open_store(place: Place, *, is_to_read: bool = False) -> Store:
    """Open the database of a place; it is created if missing, unless it `is_to_read`.

    A damaged file is set aside, and its backup, or a new file, takes its place.

    Raises:
        NoHistory: it `is_to_read`, and there is none, or none of this project.
        StoreFailed: it cannot be opened, or was made by another version of this library; also if a
            file named for reading is damaged.
    """
    deadline = time.monotonic() + LOCK_SECONDS
    has_mended = False
    while True:
        try:
            with unforked():
                return _open(place, is_to_read)
        except StoreFailed as reason:
            if is_damage(reason.__cause__) and not has_mended:
                has_mended = True
            elif is_locked(reason.__cause__) and time.monotonic() < deadline:
                time.sleep(_OPENING_PAUSE_SECONDS)
            else:
                raise


def _open(place: Place, is_to_read: bool) -> Store:
    if place.is_off:
        raise NoHistory(place.label, *SWITCHED_OFF)
    if place.problem:
        raise StoreFailed(place.label, place.problem, KINDS)
    identity = None
    try:
        if place.file is not None:
            identity = _prepare_file(place, place.file, is_to_read)
        engine = engine_for(place, is_to_read=is_to_read)
    except (ImportError, OSError, SQLAlchemyError, ValueError) as cause:
        raise failure(place, cause) from cause
    try:
        return Store(place, engine, is_to_read=is_to_read)
    except BaseException as cause:
        engine.dispose()
        is_damaged = isinstance(cause, StoreFailed) and is_damage(cause.__cause__)
        if is_damaged and not _set_aside(place, identity, is_to_read):
            raise not_mended(place) from cause
        raise


def _set_aside(place: Place, damaged: tuple[int, int] | None, is_to_read: bool) -> bool:
    """Set a damaged file aside, if it is ours; a file named for reading stays as it is."""
    return (place.is_own or not is_to_read) and set_aside(place, damaged)


def _prepare_file(place: Place, file: Path, is_to_read: bool) -> tuple[int, int] | None:
    """Check that a file may be opened; return its identity, if it exists."""
    if file.is_dir():
        raise StoreFailed(place.label, "That is a folder.", "Name a file in it.")
    wait_until_free(file)
    is_missing = not file.exists()
    if is_missing and is_to_read:
        raise no_history(place)
    identity = identity_of(file)
    if is_missing and not is_to_read:
        file.parent.mkdir(parents=True, exist_ok=True)
        forget_backup(file)  # of one that was deleted
        if place.is_own:
            _create_private(file)
    return identity


def _create_private(file: Path) -> None:
    """Create the file of a history, private to its owner and ignored by git.

    Later changes of its mode, or of our `.gitignore`, are a person's decision.
    """
    with suppress(OSError), open(file.with_name(".gitignore"), "x", encoding="ascii") as ignored:
        ignored.write(f"{file.name}*\n")
    with suppress(FileExistsError):  # another process was faster
        os.close(open_private(file, os.O_RDWR | os.O_CREAT | os.O_EXCL))
