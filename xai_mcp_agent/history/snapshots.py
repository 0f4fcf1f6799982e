"""Snapshots of the fold, so that a long log need not be folded from its start."""

from __future__ import annotations

import json
import zlib

from pydantic import TypeAdapter
from sqlalchemy import Connection, delete, insert, select

from .events_table import LARGEST_POSITION
from .records import Fold, SourceRecord, ToolRecord
from .tables import UnreadableRow, snapshots

_FASTEST = 1  # zlib's level, which still saves nine tenths
_RECORDS = TypeAdapter(tuple[list[SourceRecord], list[ToolRecord]])


def last_snapshot(
    connection: Connection, project: int, until: int = LARGEST_POSITION
) -> tuple[int, Fold]:
    """Return the position and the fold of the last snapshot up to a position."""
    query = select(snapshots).where(
        snapshots.c.project == project, snapshots.c.version == Fold.version,
        snapshots.c.position <= until,
    )  # fmt: skip
    row = connection.execute(query.order_by(snapshots.c.position.desc()).limit(1)).first()
    return (0, Fold()) if row is None else (row.position, _unpack_fold(row.records))


def write_snapshot(connection: Connection, project: int, position: int, fold: Fold) -> None:
    """Write the state at a position."""
    key = {"project": project, "position": position}
    connection.execute(delete(snapshots).filter_by(**key))
    row = {**key, "version": Fold.version, "records": _pack_fold(fold)}
    connection.execute(insert(snapshots).values(row))


def _pack_fold(fold: Fold) -> bytes:
    records = [*fold.sources.values()], [*fold.plain_tools()]
    values = _RECORDS.dump_python(records, mode="json", exclude_defaults=True)
    # Not by pydantic: names may contain lone surrogates.
    return zlib.compress(json.dumps(values, separators=(",", ":")).encode(), _FASTEST)


def _unpack_fold(packed: bytes) -> Fold:
    """Return the records of a snapshot.

    Raises:
        UnreadableRow: the bytes are damaged.
    """
    try:
        return Fold(*_RECORDS.validate_python(json.loads(zlib.decompress(packed))))
    except (TypeError, ValueError, zlib.error) as cause:
        raise UnreadableRow("A snapshot differs from what was written.") from cause
