"""What one event makes of what was known: the catalog is these functions, event by event.

The same fold serves what is written as it happens, the rebuilding of it, and views of the past.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ...history.event import Event
from ...history.subject import Subject
from .record import Call, SourceRecord, ToolRecord


@dataclass
class Records:
    """Every source and tool that an amount of events tells of."""

    sources: dict[Subject, SourceRecord] = field(default_factory=dict[Subject, SourceRecord])
    tools: dict[Subject, ToolRecord] = field(default_factory=dict[Subject, ToolRecord])

    def fold(self, events: Iterable[Event]) -> Records:
        """Take these events in, in their order; itself."""
        calls: dict[Subject, list[Event]] = {}
        for event in events:
            subject = event.subject
            if subject.tool is None:
                self.sources[subject] = fold_source(self.sources.get(subject), event)
            elif event.change == "called" and subject in self.tools:
                # Most events are calls, and change nothing else of the tool: all at once, below.
                calls.setdefault(subject, []).append(event)
            else:
                self.tools[subject] = fold_tool(self.tools.get(subject), event)
        for subject, made in calls.items():
            record = self.tools[subject]
            self.tools[subject] = replace(record, usage=record.usage.with_calls(map(_call, made)))
        return self


def fold_source(known: SourceRecord | None, event: Event) -> SourceRecord:
    """The source after this event."""
    record = known or SourceRecord(event.subject, event.time)
    match event.change:
        case "connected" | "reconnected" | "refreshed":
            return _listed(record, event)
        case "left":
            return record.without(event.run)
        case "disconnected":
            return replace(record, runs=(), disconnected_since=event.time, reason=event.reason)
        case "failed":
            return replace(record, last_error=event.reason)
        case _:
            return record


def fold_tool(known: ToolRecord | None, event: Event) -> ToolRecord:
    """The tool after this event."""
    record = known or ToolRecord(event.subject, event.time, event.time, event.time)
    match event.change:
        case "seeded" | "discovered" | "confirmed" | "changed" | "returned":
            return _seen(record, event)
        case "unavailable":
            return replace(
                record, is_available=False, unavailable_since=event.time, reason=event.reason
            )
        case "called":
            return replace(record, usage=record.usage.with_calls([_call(event)]))
        case "enabled" | "disabled":
            return replace(record, is_enabled=event.change == "enabled")
        case "accepted":
            return replace(record, accepted=event.definition or "")
        case _:
            return record


def _call(event: Event) -> Call:
    return Call(event.time, event.payload["seconds"], event.payload.get("error", ""))


def _listed(record: SourceRecord, event: Event) -> SourceRecord:
    payload = event.payload
    # `server_name` or `agent_name`: as sources of its kind are called.
    title = next((x for name, x in payload.items() if name.endswith("_name")), record.title)
    return replace(
        record,
        runs=record.runs if event.run in record.runs else (*record.runs, event.run),
        title=title,
        transport=payload.get("transport", record.transport),
        tool_count=payload["tool_count"],
        inventory=event.definition or "",
        last_sync=event.time,
        last_error="",
        disconnected_since=None,
        reason="",
    )


def _seen(record: ToolRecord, event: Event) -> ToolRecord:
    is_new = event.definition != record.definition
    return replace(
        record,
        definition=event.definition or "",
        is_available=True,
        unavailable_since=None,
        reason="",
        updated=event.time if is_new else record.updated,
        last_seen=event.time,
    )
