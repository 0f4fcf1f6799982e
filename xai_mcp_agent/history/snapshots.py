"""Snapshots of the fold as bytes, so that a long log need not be folded from its start."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from typing import Any

from .event import Subject, subject_of
from .records import Fold, SourceRecord, ToolRecord
from .tables import Unreadable, encode_time, time_of
from .usage import Usage

_QUICKLY = 1  # zlib's fastest level still makes a tenth of it
_TIMES = (
    "created", "updated", "last_seen", "unavailable_since", "last_sync", "synced_before",
    "disconnected_since", "last_executed",
)  # fmt: skip


def pack_fold(fold: Fold) -> bytes:
    """Return the records as bytes."""
    rows = [[*_names(x.subject), _fields(x)] for x in (*fold.sources.values(), *fold.plain_tools())]
    return zlib.compress(json.dumps(rows, separators=(",", ":")).encode(), _QUICKLY)


def unpack_fold(packed: bytes) -> Fold:
    """Return the records of a snapshot.

    Raises:
        Unreadable: the bytes are damaged.
    """
    try:
        rows = json.loads(zlib.decompress(packed))
        sources = [
            SourceRecord(subject_of(kind, source, None), **_read(values))
            for kind, source, tool, values in rows
            if tool is None
        ]
        tools = [
            ToolRecord(subject_of(kind, source, tool), **_read(values))
            for kind, source, tool, values in rows
            if tool is not None
        ]
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError, zlib.error) as cause:
        raise Unreadable("A snapshot differs from what was written.") from cause
    return Fold(sources, tools)


def _names(subject: Subject) -> tuple[str, str, str | None]:
    return subject.kind.name, subject.source, subject.tool


def _fields(record: SourceRecord | ToolRecord | Usage) -> dict[str, Any]:
    """Return the fields that differ from their defaults."""
    values: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if field.name == "subject" or (field.default is not MISSING and value == field.default):
            continue
        if isinstance(value, datetime):
            value = encode_time(value)
        elif isinstance(value, Usage):
            value = _fields(value)
        elif isinstance(value, Mapping) and not value:
            continue
        values[field.name] = value
    return values


def _read(values: dict[str, Any]) -> dict[str, Any]:
    for name in values.keys() & _TIMES:
        values[name] = time_of(values[name])
    for name in values.keys() & {"durations", "durations_before"}:
        values[name] = {int(bucket): count for bucket, count in values[name].items()}
    if "usage" in values:
        values["usage"] = Usage(**_read(values["usage"]))
    if "runs" in values:
        values["runs"] = tuple(values["runs"])
    return values
