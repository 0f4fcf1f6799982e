"""Snapshots of the fold as bytes, so that a long log need not be folded from its start."""

from __future__ import annotations

import json
import zlib

from pydantic import TypeAdapter

from .records import Fold, SourceRecord, ToolRecord
from .tables import UnreadableRow

_FASTEST = 1  # zlib's level, which still saves nine tenths
_RECORDS = TypeAdapter(tuple[list[SourceRecord], list[ToolRecord]])


def pack_fold(fold: Fold) -> bytes:
    """Return the records as bytes."""
    records = [*fold.sources.values()], [*fold.plain_tools()]
    values = _RECORDS.dump_python(records, mode="json", exclude_defaults=True)
    # Not by pydantic: names may contain lone surrogates.
    return zlib.compress(json.dumps(values, separators=(",", ":")).encode(), _FASTEST)


def unpack_fold(packed: bytes) -> Fold:
    """Return the records of a snapshot.

    Raises:
        Unreadable: the bytes are damaged.
    """
    try:
        return Fold(*_RECORDS.validate_python(json.loads(zlib.decompress(packed))))
    except (TypeError, ValueError, zlib.error) as cause:
        raise UnreadableRow("A snapshot differs from what was written.") from cause
