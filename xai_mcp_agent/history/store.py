"""A database with a history in it: opened, brought up to date, used one transaction at a time.

A store is used by the thread that opened it. Other processes may use the same database at the
same time. Whatever goes wrong with it is raised as `StoreFailed`.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, insert, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ..core.errors import StoreFailed
from .database import engine_for, for_reading, for_writing, lock
from .forks import ClosedInForks
from .migrations import NewerStore, bring_up_to_date
from .place import Place
from .project import project_of
from .subject import Project
from .tables import projects

# The first ones that open a new database at the same moment are in each other's way.
_OPENING_TRIES = 50
_OPENING_PAUSE_SECONDS = 0.1


class Store:
    """An open database, and the number that this project has in it."""

    def __init__(self, place: Place, engine: Engine) -> None:
        self.place = place
        self._engine = engine
        self._forks = ClosedInForks(self._close_file)
        with self.writing() as connection:
            bring_up_to_date(connection)
            self.project, self.project_id = _project(connection, place)

    @contextmanager
    def writing(self) -> Generator[Connection]:
        """A transaction that no other writer's can fall into: all of it is kept, or nothing.

        Raises:
            StoreFailed: the database; nothing of the transaction was kept.
        """
        with self._connected() as connection, for_writing(connection).begin():
            lock(connection)
            yield connection

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """A transaction that sees one state of the database, from its first query to its last.

        Raises:
            StoreFailed: the database.
        """
        with self._connected() as connection, for_reading(connection).begin():
            yield connection

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def _close_file(self) -> None:
        """Close a file, which is opened again by the next transaction."""
        if self.place.file is not None:
            self._engine.dispose()

    @contextmanager
    def _connected(self) -> Generator[Connection]:
        try:
            with self._forks.used(), self._engine.connect() as connection:
                yield connection
        except SQLAlchemyError as cause:
            raise failure(self.place, cause) from cause


def open_store(place: Place) -> Store:
    """Open the database of a place; it is made where there is none yet.

    Raises:
        StoreFailed: it cannot be opened, or was made by a newer version of this library.
    """
    tries_left = _OPENING_TRIES
    while True:
        tries_left -= 1
        try:
            return _opened(place)
        except StoreFailed as reason:
            if not (tries_left and "locked" in reason.problem):
                raise
            time.sleep(_OPENING_PAUSE_SECONDS)


def failure(place: Place, cause: Exception) -> StoreFailed:
    """What went wrong with a database, without statements and their values."""
    text = str(cause.orig) if isinstance(cause, DBAPIError) else str(cause)
    problem = next((line for line in text.splitlines() if line.strip()), type(cause).__name__)
    return StoreFailed(place.shown, problem.strip())


def _opened(place: Place) -> Store:
    try:
        if place.file is not None:
            place.file.parent.mkdir(parents=True, exist_ok=True)
        engine = engine_for(place)
    except (ImportError, OSError, SQLAlchemyError) as cause:
        raise failure(place, cause) from cause
    try:
        return Store(place, engine)
    except NewerStore as cause:
        engine.dispose()
        raise failure(place, cause) from cause
    except BaseException:
        engine.dispose()
        raise


def _project(connection: Connection, place: Place) -> tuple[Project, int]:
    """The project of the place's folder. A store of its own remembers whose it is."""
    here = project_of(place.folder)
    known = connection.execute(select(projects).order_by(projects.c.id)).all()
    mine = [x for x in known if x.repo_hash == here.repo_hash]
    if not mine and place.is_own:
        mine = known
    if not mine:
        made = insert(projects).values(repo_hash=here.repo_hash, name=here.name)
        return here, connection.execute(made.returning(projects.c.id)).scalar_one()
    return Project(mine[0].name, mine[0].repo_hash), mine[0].id
