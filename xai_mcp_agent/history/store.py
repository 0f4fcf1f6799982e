"""A database that holds a history: opened, migrated, and used one transaction at a time."""

from __future__ import annotations

import math
import os
import sqlite3
import time
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Connection, Engine, insert, select
from sqlalchemy.exc import SQLAlchemyError

from ..core.errors import StoreFailed
from ..secrets.private_files import open_private
from .backup import back_up, backup_of, forget_backup, is_due
from .database import LOCK_SECONDS, engine_for, for_reading, for_writing, lock
from .event import Project
from .failures import (
    failure,
    is_damage,
    is_locked,
    is_mistake,
    is_of_missing_table,
    is_to_read_only,
    may_be_damage,
    not_mended,
)
from .forks import ClosedInForks, importing
from .gate import wait_until_free
from .integrity import is_file_intact
from .migrations import NewerStore, OlderStore, bring_up_to_date, has_tables, is_up_to_date
from .place import KINDS, NOTHING_KEPT, Place, identity_of, project_of
from .repair import set_aside
from .tables import Unreadable, projects

# The first ones that open a new database at the same moment are in each other's way.
_OPENING_PAUSE_SECONDS = 0.1
_TRACES_MS = 2000  # whoever reads is done sooner, or reads something large
_LOOK_AGAIN_SECONDS = 60.0  # through a file that was found to be intact
# Looked through in some hundredths of a second whenever it is opened; larger ones once a day.
_SMALL_BYTES = 4 * 2**20
_GONE = "The file was deleted, or another one put in its place, while it was used."
_NOTHING_THERE = ("There is no history of this project in it.", "Name another place.")
_GOES_ON = "What happens from now on is kept in the file that is there then."


class NoHistory(StoreFailed):
    """Nothing was ever kept in that place, or nothing of this project."""


class Store:
    """An open database, and the number that this project has in it. Used by one thread.

    One that `is_to_read` is left as it is, and may be a file that nobody can write.
    """

    def __init__(
        self,
        place: Place,
        engine: Engine,
        *,
        is_to_read: bool = False,
    ) -> None:
        self.place = place
        self.is_to_read = is_to_read
        self._engine = engine
        self._forks = ClosedInForks(self._close_file)
        self._file: tuple[int, int] | None = None
        self._is_damaged = self._lacks_table = False
        self._looked = -math.inf
        self._opened: int | None = None
        with self._connected():
            self._file = identity_of(place.file)
        with self.reading() as connection:
            _look_through(connection, place)
            is_ready = is_up_to_date(connection)
            is_older = not is_ready and has_tables(connection)
            if not is_ready and not is_older and _is_replaced(place):
                raise Unreadable("There is a backup of a history, and here is none.")
            known = _project(connection, place) if is_ready else None
            if known is None and is_to_read:
                raise OlderStore if is_older else NoHistory(place.shown, *_NOTHING_THERE)
        if known is None:
            if place.file is not None and is_older:
                back_up(place.file)
            with self.writing() as connection:
                was_older = bring_up_to_date(connection)
                known = _project(connection, place) or _new_project(connection, place)
            if was_older:
                self.shrink()
        self.project, self.project_id = known
        self._opened = self.project_id

    @property
    def is_damaged(self) -> bool:
        """Whether damage was found in it; the one that is opened next is mended."""
        return self._is_damaged

    @property
    def is_usable(self) -> bool:
        """Whether it may work again by itself; if not, it has to be opened anew."""
        is_whole = not (self._is_damaged or self._lacks_table)
        return is_whole and self._file == identity_of(self.place.file)

    @contextmanager
    def writing(self, *, everything: bool = False) -> Generator[Connection]:
        """A transaction that no other writer's can fall into: all of it is kept, or nothing.

        No writer of this project's; or of any, if it changes `everything`: what projects share.

        Raises:
            StoreFailed: the database; nothing of the transaction was kept.
        """
        with self._connected() as connection, for_writing(connection).begin():
            lock(connection, None if everything else self._opened)
            yield connection
            # At the end: whoever puts another file in its place keeps writers out meanwhile.
            self._check_file()

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """A transaction that sees one state of the database, from its first query to its last.

        Raises:
            StoreFailed: the database.
        """
        self._check_file()
        with self._connected() as connection, for_reading(connection).begin():
            yield connection

    def clear_traces(self) -> None:
        """Leave nothing beside the file of what was removed, unless somebody reads there now."""
        if self.place.file is not None:
            forget_backup(self.place.file)
        self._unless_used("PRAGMA wal_checkpoint(TRUNCATE)")

    def back_up_if_due(self) -> None:
        """Copy the file beside it, if nobody did this day.

        Raises:
            StoreFailed: it turns out to be damaged; the one that is opened next is mended.
        """
        file = self.place.file
        if file is not None and not self.is_to_read and is_due(file) and not back_up(file):
            self._is_damaged = True
            raise failure(self.place, Unreadable("A row is not what was written."))

    def shrink(self) -> None:
        """Give the room back of what was removed from a file, unless somebody uses it now."""
        self._unless_used("VACUUM")
        self.clear_traces()

    def _unless_used(self, statement: str) -> None:
        """Have a file seen to; not where that would have to wait for long."""
        if self.place.file is not None:
            with suppress(StoreFailed), self._connected() as connection:
                raw: Any = connection.connection.dbapi_connection
                raw.execute(f"PRAGMA busy_timeout={_TRACES_MS}")
                raw.execute(statement)
                raw.execute(f"PRAGMA busy_timeout={LOCK_SECONDS * 1000}")

    def close(self) -> None:
        """Let go of the database. One that is damaged is set aside."""
        self._engine.dispose()
        if self._is_damaged:
            _mended(self.place, self._file, self.is_to_read)

    def _check_file(self) -> None:
        if self._file != identity_of(self.place.file):
            raise StoreFailed(self.place.shown, _GONE, _GOES_ON)

    def _close_file(self) -> None:
        """Close a file, which is opened again by the next transaction."""
        if self.place.file is not None:
            self._engine.dispose()

    @contextmanager
    def _connected(self) -> Generator[Connection]:
        try:
            with self._forks.used(), self._engine.connect() as connection:
                yield connection
        except SQLAlchemyError as raised:
            cause = (self._damage() if may_be_damage(raised) else self._mark(raised)) or raised
            self._is_damaged |= is_damage(cause)
            self._lacks_table |= is_of_missing_table(cause)
            if cause is raised and is_mistake(cause):
                raise
            raise failure(self.place, cause) from cause

    def _mark(self, raised: BaseException) -> Unreadable | None:
        """What is wrong with a file that says that it is only to be read, and is not."""
        file = self.place.file
        if file is None or self.is_to_read or not is_to_read_only(raised):
            return None
        if not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)):
            return None
        return Unreadable("It says that it is of a version of SQLite that there never was.")

    def _damage(self) -> Unreadable | None:
        """What is wrong with the file, of which something could not be used; not always looked."""
        now = time.monotonic()
        if self.place.file is None or now - self._looked < _LOOK_AGAIN_SECONDS:
            return None
        try:
            if is_file_intact(self.place.file):
                self._looked = now
                return None
        except sqlite3.Error:
            return None
        return Unreadable("A row is not what was written.")


def open_store(place: Place) -> Store:
    """Open the database of a place; it is made where there is none yet.

    A file that is damaged is set aside, and a new one begun with all that can still be read.

    Raises:
        StoreFailed: it cannot be opened, or was made by a newer version of this library.
    """
    return _opened_in_time(place, is_to_read=False)


def open_to_read(place: Place) -> Store:
    """Open the history that is kept in a place; nothing is made, and no other file is touched.

    Of a file of an older version a copy in memory is brought up to date.

    Raises:
        NoHistory: there is none, or none of this project.
        StoreFailed: as with `open_store`; also if a file that somebody named is damaged.
    """
    try:
        return _opened_in_time(place, is_to_read=True)
    except OlderStore:
        return open_store(place) if place.file is None else _copied(place)


def _copied(place: Place) -> Store:
    """The history of a file, brought up to date in memory."""
    try:
        with closing(engine_for(place, is_to_read=True).raw_connection()) as old:
            engine = engine_for(replace(place, url="sqlite://", file=None))
            with closing(engine.raw_connection()) as new:
                cast(Any, old.driver_connection).backup(new.driver_connection)
            with engine.connect() as connection, for_writing(connection).begin():
                bring_up_to_date(connection)
    except SQLAlchemyError as cause:
        raise failure(place, cause) from cause
    return Store(place, engine, is_to_read=True)


def _opened_in_time(place: Place, *, is_to_read: bool) -> Store:
    deadline = time.monotonic() + LOCK_SECONDS
    has_mended = False
    while True:
        try:
            return _opened(place, is_to_read)
        except StoreFailed as reason:
            if is_damage(reason.__cause__) and not has_mended:
                has_mended = True
            elif is_locked(reason.__cause__) and time.monotonic() < deadline:
                time.sleep(_OPENING_PAUSE_SECONDS)
            else:
                raise


def _keep_to_its_owner(place: Place) -> None:
    """Have only the owner read a new history of a project, and git leave it alone.

    It is no part of what people publish. Both only at its beginning: whoever changes the modes
    of the file, or our `.gitignore`, has decided.
    """
    if place.file is None or place.file.exists():
        return
    forget_backup(place.file)  # of one that was deleted
    if not place.is_own:
        return
    with suppress(OSError), open(place.file.with_name(".gitignore"), "x", encoding="ascii") as file:
        file.write(f"{place.file.name}*\n")
    with suppress(FileExistsError):  # of another process, which was quicker
        os.close(open_private(place.file, os.O_RDWR | os.O_CREAT | os.O_EXCL))


def _opened(place: Place, is_to_read: bool) -> Store:
    if place.is_off:
        raise NoHistory(place.shown, *NOTHING_KEPT)
    if place.problem:
        raise StoreFailed(place.shown, place.problem, KINDS)
    if place.file is not None and place.file.is_dir():
        raise StoreFailed(place.shown, "That is a folder.", "Name a file in it.")
    if is_to_read and _is_missing(place.file):
        raise NoHistory(place.shown, *_NOTHING_THERE)
    if place.file is not None:
        wait_until_free(place.file)
    found = identity_of(place.file)
    try:
        if place.file is not None and not is_to_read:
            place.file.parent.mkdir(parents=True, exist_ok=True)
            _keep_to_its_owner(place)
        with importing():  # the libraries for this kind of database
            engine = engine_for(place, is_to_read=is_to_read)
    except (ImportError, OSError, SQLAlchemyError, ValueError) as cause:
        raise failure(place, cause) from cause
    try:
        return Store(place, engine, is_to_read=is_to_read)
    except NewerStore as cause:
        engine.dispose()
        raise StoreFailed(place.shown, str(cause), cause.next_step) from cause
    except BaseException as cause:
        engine.dispose()
        is_damaged = isinstance(cause, StoreFailed) and is_damage(cause.__cause__)
        if is_damaged and not _mended(place, found, is_to_read):
            raise not_mended(place) from cause
        raise


def _look_through(connection: Connection, place: Place) -> None:
    """Have a small file looked through: from a damaged index SQLite gives wrong answers only."""
    try:
        if place.file is None or place.file.stat().st_size > _SMALL_BYTES:
            return
    except OSError:  # it is gone, which is found out as well
        return
    found = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
    if found != "ok":
        raise Unreadable("SQLite finds something wrong in it.")


def _is_replaced(place: Place) -> bool:
    """Whether something else is where a history was."""
    return place.file is not None and backup_of(place.file).exists()


def _is_missing(file: Path | None) -> bool:
    """Whether there is certainly none, and not only none that may be seen."""
    try:
        return file is not None and not file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False


def _mended(place: Place, damaged: tuple[int, int] | None, is_to_read: bool) -> bool:
    """Whether it was; a file that somebody only named to look at is left as it is."""
    return (place.is_own or not is_to_read) and set_aside(place, damaged)


def _project(connection: Connection, place: Place) -> tuple[Project, int] | None:
    """The project of the place's folder. A store of its own remembers whose it is."""
    is_any = place.is_own or place.any_project
    known = connection.execute(select(projects).order_by(projects.c.id)).all()
    here = project_of(place.folder).repo_hash
    mine = [x for x in known if x.repo_hash == here] or (known if is_any else ())
    return (Project(mine[0].name, mine[0].repo_hash), mine[0].id) if mine else None


def _new_project(connection: Connection, place: Place) -> tuple[Project, int]:
    here = project_of(place.folder)
    made = insert(projects).values(repo_hash=here.repo_hash, name=here.name)
    return here, connection.execute(made.returning(projects.c.id)).scalar_one()
