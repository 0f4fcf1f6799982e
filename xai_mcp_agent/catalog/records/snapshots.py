"""All records as they were at some positions, so that a view of the past need not begin at first.

One is written in the transaction of whoever adds the event that makes it due. It is no more than
what the log comes to: without any, views are the same and take longer.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import replace

from sqlalchemy import Connection, Text, func, select, type_coerce

from ...history import log
from ...history.bulk import insert_rows
from ...history.log import Range, subject_of
from ...history.tables import Unreadable, kept_json, snapshots, sources, tools
from .fold import Records
from .stored import source_from_json, tool_from_json

# So many events are read in a third of a second. Where there are more tools than that one costs
# more to write and to read, and so they are further apart.
_EVENTS_BETWEEN = 10_000
_FAST = 1  # zlib's quickest still makes a tenth of it


class Snapshots:
    """Of one project, as one process sees to them."""

    def __init__(self, project: int) -> None:
        self._project = project
        self._next = 1  # nothing is asked of the store before this position

    def take_if_due(self, connection: Connection, position: int) -> None:
        """Write one of the records as they are, which are those at this position."""
        if position < self._next:
            return
        # Others may have written one.
        last = select(func.max(snapshots.c.position)).where(snapshots.c.project == self._project)
        counted = select(func.count()).where(tools.c.project == self._project)
        between = _EVENTS_BETWEEN + connection.execute(counted).scalar_one()
        self._next = (connection.execute(last).scalar() or 0) + between
        if position >= self._next:
            packed = _packed(connection, self._project)
            insert_rows(connection, snapshots, [(self._project, position, packed)])
            self._next = position + between


def records_until(
    connection: Connection, project: int, until: int | None, wanted: Range | None = None
) -> Records:
    """What the log comes to at a position, or at its end.

    With `wanted` only those events count that it asks for, since the snapshot before.
    """
    wanted = wanted or Range()
    after, records = _nearest(connection, project, until)
    events = log.read(connection, project, replace(wanted, after=after, until=until), is_brief=True)
    return records.fold(events)


def _nearest(connection: Connection, project: int, until: int | None) -> tuple[int, Records]:
    """The last one up to a position, and where it was taken; nothing before the first."""
    query = select(snapshots).where(snapshots.c.project == project)
    if until is not None:
        query = query.where(snapshots.c.position <= until)
    row = connection.execute(query.order_by(snapshots.c.position.desc()).limit(1)).first()
    return (0, Records()) if row is None else (row.position, _unpacked(row.records))


def _packed(connection: Connection, project: int) -> bytes:
    """The rows of both tables as JSON; their records are JSON already."""
    lines: list[str] = []
    for table, name, tool in ((sources, "name", None), (tools, "source_name", "name")):
        names = [table.c.kind, table.c[name], *([table.c[tool]] if tool else ())]
        mine = select(type_coerce(table.c.record, Text), *names).where(table.c.project == project)
        lines += [f"[{kept_json(x)},{record}]" for record, *x in connection.execute(mine)]
    return zlib.compress(f"[{','.join(lines)}]".encode(), _FAST)


def _unpacked(data: bytes) -> Records:
    try:
        rows = json.loads(zlib.decompress(data))
    except (ValueError, zlib.error) as cause:
        raise Unreadable("A snapshot is not what was written.") from cause
    records = Records()
    for names, record in rows:
        kind, source, tool = names if len(names) > 2 else (*names, None)
        subject = subject_of(kind, source, tool)
        if tool is None:
            records.sources[subject] = source_from_json(subject, record)
        else:
            records.tools[subject] = tool_from_json(subject, record)
    return records
