"""Records as JSON, as the store keeps them, and back."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from ..core.json import JsonObject
from .event import Subject
from .records import NO_USAGE, SourceRecord, ToolRecord, Usage
from .tables import Unreadable


@contextmanager
def _reading() -> Generator[None]:
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as cause:
        raise Unreadable("A record is not what was written.") from cause


def source_as_json(record: SourceRecord) -> JsonObject:
    """All but the subject, which is beside it."""
    return _given(
        created=record.created.isoformat(),
        runs=list(record.runs),
        title=record.title,
        transport=record.transport,
        tool_count=record.tool_count,
        inventory=record.inventory,
        last_sync=_text(record.last_sync),
        synced_before=_text(record.synced_before),
        last_error=record.last_error,
        disconnected_since=_text(record.disconnected_since),
        reason=record.reason,
        failures=record.failures,
    )


@_reading()
def source_from_json(subject: Subject, value: JsonObject) -> SourceRecord:
    """The record that was written so.

    Raises:
        Unreadable: none was.
    """
    fields = dict(value)
    fields["runs"] = tuple(fields.get("runs", ()))
    for name in ("last_sync", "synced_before", "disconnected_since"):
        fields[name] = _moment(fields.get(name))
    return SourceRecord(subject, datetime.fromisoformat(fields.pop("created")), **fields)


def tool_as_json(record: ToolRecord) -> JsonObject:
    """All but the subject, which is beside it."""
    return _given(
        times=[x.isoformat() for x in (record.created, record.updated, record.last_seen)],
        definition=record.definition,
        is_available=record.is_available,
        unavailable_since=_text(record.unavailable_since),
        reason=record.reason,
        is_disabled=not record.is_enabled,
        accepted=record.accepted,
        usage=_usage_as_json(record.usage),
    )


@_reading()
def tool_from_json(subject: Subject, value: JsonObject) -> ToolRecord:
    """The record that was written so.

    Raises:
        Unreadable: none was.
    """
    created, updated, last_seen = map(datetime.fromisoformat, value["times"])
    return ToolRecord(
        subject, created, updated, last_seen,
        definition=value.get("definition", ""),
        is_available=value.get("is_available", False),
        unavailable_since=_moment(value.get("unavailable_since")),
        reason=value.get("reason", ""),
        is_enabled=not value.get("is_disabled", False),
        accepted=value.get("accepted", ""),
        usage=_usage_from_json(value["usage"]) if "usage" in value else NO_USAGE,
    )  # fmt: skip


def _usage_as_json(usage: Usage) -> JsonObject:
    return _given(
        calls=usage.calls,
        errors=usage.errors,
        last_error=usage.last_error,
        last_executed=_text(usage.last_executed),
        total_seconds=usage.total_seconds,
        durations={str(bucket): count for bucket, count in usage.durations.items()},
        durations_before={str(bucket): n for bucket, n in usage.durations_before.items()},
        unknown=usage.unknown,
    )


def _usage_from_json(value: JsonObject) -> Usage:
    fields: dict[str, Any] = dict(value)
    for name in ("durations", "durations_before"):
        fields[name] = {int(bucket): n for bucket, n in value.get(name, {}).items()}
    fields["last_executed"] = _moment(value.get("last_executed"))
    return Usage(**fields)


def _given(**fields: Any) -> JsonObject:
    return {name: x for name, x in fields.items() if x}


def _text(moment: datetime | None) -> str | None:
    return moment and moment.isoformat()


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
