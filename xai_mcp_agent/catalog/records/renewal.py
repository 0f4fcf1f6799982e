"""Records made anew from the log, where a file was mended."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select

from ...history import log
from ...history.log import Range
from ...history.tables import RECORDS, STALE, facts, projects, snapshots
from .fold import Records
from .projection import Projection

_IS_STALE = (facts.c.name == RECORDS) & (facts.c.value == STALE)


def renew(connection: Connection, project: int) -> None:
    """Have the records of a project as its log gives them. Within a transaction for writing."""
    events = log.read(connection, project, Range(), is_brief=True)
    Projection(connection, project).replace(Records().fold(events))


def is_stale(connection: Connection) -> bool:
    """Whether the records are not what the log comes to, because the file was mended."""
    return connection.execute(select(facts).where(_IS_STALE)).first() is not None


def renew_stale(connection: Connection) -> None:
    """Have all records as the log gives them, if they are not. As `renew`."""
    if is_stale(connection):
        connection.execute(delete(snapshots))
        for project in connection.execute(select(projects.c.id)).scalars().all():
            renew(connection, project)
        connection.execute(delete(facts).where(_IS_STALE))
