"""What is known of servers and tools, to read and as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from ...catalog.records.fold import Records
from ...catalog.records.record import SourceRecord, ToolRecord, Usage, last_seen, state_of
from ...core.kinds import META, STATIC
from ...core.tools import JsonObject
from ...history.subject import Subject
from ..deciding.marks import marks_text
from ..screen.text import clean, wrap
from ..screen.values import count
from .events import NOTHING
from .times import seconds_text, time_text

# What is said of one tool; a whole log as an error would bury the others.
_MOST_CHARS = 400
_KINDS = {STATIC: " (tools that are drawn)", META: " (tools of our own)"}


def records_text(records: Records, width: int, server: str | None = None) -> str:
    """Each source with its tools, in lines of at most so many columns. `server`: only this one."""
    out = list[str]()
    for subject in _sources(records, server):
        source = records.sources.get(subject)
        tools = _tools_of(records, subject)
        out += _wrapped(_source_line(subject, source, tools), width, "", "    ")
        for tool in tools:
            for number, line in enumerate(_tool_lines(tool, source)):
                out += _wrapped(line, width, "      " if number else "  ", "      ")
    return "\n".join(out) or NOTHING


def records_as_dicts(
    records: Records, server: str | None = None
) -> tuple[list[JsonObject], list[JsonObject]]:
    """The sources, and all their tools, as plain values."""
    subjects = _sources(records, server)
    sources = [_source_as_dict(x) for x in map(records.sources.get, subjects) if x]
    tools = [
        _tool_as_dict(tool, records.sources.get(subject))
        for subject in subjects
        for tool in _tools_of(records, subject)
    ]
    return sources, tools


def usage_text(usage: Usage) -> str:
    """How often it was called, how long that took, and what went wrong last."""
    if not usage.calls:
        return "never called"
    text = f"{count(usage.calls, 'call')}, {seconds_text(usage.mean_seconds or 0)}"
    if usage.calls > 1:
        text += f" on average, 95 of 100 within {seconds_text(usage.p95_seconds or 0)}"
    if usage.errors:
        text += f"; {usage.errors:,} failed, the last: {_short(usage.last_error)}"
    return text


def _sources(records: Records, server: str | None) -> list[Subject]:
    """The sources there are, those that have no record of their own first."""
    found = {*records.sources, *(x.anchor for x in records.tools)}
    wanted = (x for x in found if server in (None, x.shown_source))
    return sorted(wanted, key=lambda x: (x.kind.connects, x.source, x.kind.name))


def _tools_of(records: Records, source: Subject) -> list[ToolRecord]:
    """Its tools by name, those that are gone last."""
    own = records.sources.get(source)
    found = (x for x in records.tools.values() if x.subject.anchor == source)
    return sorted(found, key=lambda x: (state_of(x, own) == "gone", x.name))


def _source_line(subject: Subject, source: SourceRecord | None, tools: list[ToolRecord]) -> str:
    there = sum(state_of(x, source) != "gone" for x in tools)
    offered = count(there, "tool")
    if source is None:
        return f"{subject.shown_source}{_KINDS.get(subject.kind, '')}: {offered}"
    name = source.name if source.title in ("", source.name) else f"{source.name} ({source.title})"
    if source.is_connected:
        error = f". Last error: {_short(source.last_error)}" if source.last_error else ""
        return f"{name}: connected, {offered}{error}"
    if source.last_sync is None:
        return f"{name}: never connected: {_short(source.last_error)}"
    since = f" since {time_text(x)}" if (x := source.disconnected_since) else ""
    error = f" Since then: {_short(source.last_error)}" if source.last_error else ""
    return f"{name}: {offered}, not connected{since}: {_short(source.reason)}{error}"


def _tool_lines(tool: ToolRecord, source: SourceRecord | None) -> Iterator[str]:
    yield f"{tool.name}: {_marks(tool)}{usage_text(tool.usage)}"
    if state_of(tool, source) == "gone":
        since = f" since {time_text(x)}" if (x := tool.unavailable_since) else ""
        yield f"gone{since}: {_short(tool.reason)}"


def _marks(tool: ToolRecord) -> str:
    is_changed = tool.accepted not in ("", tool.definition)
    said = marks_text(is_enabled=tool.is_enabled, is_changed=is_changed)
    return f"{said}; " if said else ""


def _source_as_dict(record: SourceRecord) -> JsonObject:
    return {
        "name": record.name,
        "kind": record.subject.kind.name,
        "is_connected": record.is_connected,
        "title": record.title,
        "transport": record.transport,
        "tool_count": record.tool_count,
        "inventory": record.inventory,
        "created": _utc(record.created),
        "last_sync": _utc(record.last_sync),
        "last_error": record.last_error,
        "disconnected_since": _utc(record.disconnected_since),
        "reason": record.reason,
    }


def _tool_as_dict(record: ToolRecord, source: SourceRecord | None) -> JsonObject:
    usage = record.usage
    return {
        "name": record.name,
        "server": record.subject.shown_source,
        "kind": record.subject.kind.name,
        "state": state_of(record, source),
        "unavailable_since": _utc(record.unavailable_since),
        "reason": record.reason,
        "is_enabled": record.is_enabled,
        "created": _utc(record.created),
        "updated": _utc(record.updated),
        "last_seen": _utc(last_seen(record, source)),
        "definition": record.definition,
        "accepted": record.accepted,
        "calls": usage.calls,
        "errors": usage.errors,
        "last_error": usage.last_error,
        "last_executed": _utc(usage.last_executed),
        "mean_seconds": usage.mean_seconds,
        "p95_seconds": usage.p95_seconds,
    }


def _wrapped(line: str, width: int, first: str, after: str) -> Iterable[str]:
    return wrap(clean(line), width, first, after)


def _short(text: str) -> str:
    words = " ".join(text[: 2 * _MOST_CHARS].split())
    return words if len(words) <= _MOST_CHARS else f"{words[:_MOST_CHARS]}..."


def _utc(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat() if moment else None
