"""Records of sources and tools, and the fold of events into them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, TypeAlias

from ..core.events import CLOSED
from ..core.tools import FEATURES
from .event import Event, Subject
from .usage import Usage

ToolState: TypeAlias = Literal["available", "at rest", "gone"]
"""at rest: its source is not connected, and would offer it. gone: its source lacks it."""

ENDED = "It was still connected when its process ended."
"""Reason for the loss of a source that nobody closed."""

_AS_USUAL = (CLOSED.casefold(), ENDED.casefold(), "")


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """Tool, prompt or resource that exists or did.

    `definition` is the digest of its last definition. `reason` says why it is not `available`, and
    `unavailable_since` since when. `accepted` is the digest of the accepted definition. `is_held`
    is not in the history: `policy.decisions` sets it if a lock holds the tool back. `updated` is
    the time of the last change of the definition, `last_seen` of the last listing that had it.
    """

    subject: Subject
    created: datetime
    updated: datetime
    last_seen: datetime
    definition: str = ""
    state: ToolState = "gone"
    unavailable_since: datetime | None = None
    reason: str = ""
    is_enabled: bool = True
    accepted: str = ""
    is_held: bool = False
    usage: Usage = field(default_factory=Usage)  # pydantic copies other defaults slowly

    @property
    def name(self) -> str:
        """Return its name at its source."""
        return self.subject.tool or ""

    @property
    def is_available(self) -> bool:
        """Return whether it can be called now."""
        return self.state == "available"

    @property
    def is_offered(self) -> bool:
        """Return whether the last listing of its source had it; the source may be disconnected."""
        return bool(self.definition) and self.state != "gone"


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """Source that connected or failed to. `runs` have it connected now.

    `others` counts its prompts, resources and templates, if any. `inventory` is the digest of its
    last listing, at `last_sync`; the one before was at `synced_before`. `reason` says why it is not
    connected, and `disconnected_since` since when. `last_error` is the last failure since a good
    listing; `failures` counts the different ones.
    """

    subject: Subject
    created: datetime
    runs: tuple[str, ...] = ()
    title: str = ""
    transport: str = ""
    tool_count: int = 0
    others: Mapping[str, int] = field(default_factory=dict[str, int])
    inventory: str = ""
    last_sync: datetime | None = None
    synced_before: datetime | None = None
    last_error: str = ""
    disconnected_since: datetime | None = None
    reason: str = ""
    failures: int = 0

    @property
    def name(self) -> str:
        """Return its name in the settings."""
        return self.subject.source

    @property
    def is_connected(self) -> bool:
        """Return whether any run has it connected."""
        return bool(self.runs)


@dataclass
class Records:
    """Records of all sources and tools; `features` are the prompts and resources."""

    sources: dict[Subject, SourceRecord] = field(default_factory=dict[Subject, SourceRecord])
    tools: dict[Subject, ToolRecord] = field(default_factory=dict[Subject, ToolRecord])
    features: dict[Subject, ToolRecord] = field(default_factory=dict[Subject, ToolRecord])

    @property
    def items(self) -> dict[Subject, ToolRecord]:
        """Return the tools, prompts and resources together."""
        return {**self.tools, **self.features}


class Fold:
    """Fold of events, in order.

    Here a tool is available as long as its source offers it, connected or not: a source that
    connects or disconnects changes no records of its tools, which may be thousands. `tool` and
    `records` take the state of the source into account.
    """

    version = 1
    """Increased when the same events fold to other records; older snapshots are ignored."""

    def __init__(self, sources: Iterable[SourceRecord] = (), tools: Iterable[ToolRecord] = ()):
        self.sources = {x.subject: x for x in sources}
        self._tools: dict[Subject, dict[Subject, ToolRecord]] = {}
        for tool in tools:
            self._put(tool)

    def take(self, events: Iterable[Event]) -> Fold:
        """Fold these events in; return the fold."""
        calls: dict[Subject, list[Event]] = {}
        for event in events:
            subject = event.subject
            if event.change == "called" and self.plain_tool(subject):
                # Most events are calls, and change only the usage: they are folded together, below.
                calls.setdefault(subject, []).append(event)
            elif subject.tool is None:
                self.sources[subject] = _fold_source(self.sources.get(subject), event)
            else:
                source = self.sources.get(subject.anchor)
                self._put(_fold_tool(self.plain_tool(subject), event, source))
        for subject, events_of_tool in calls.items():
            record = self._tools[subject.anchor][subject]
            self._put(replace(record, usage=record.usage.with_calls(events_of_tool)))
        return self

    def tool(self, subject: Subject) -> ToolRecord | None:
        """Return the record of a tool, with the state of its source."""
        record = self.plain_tool(subject)
        return record and _with_source(record, self.sources.get(subject.anchor))

    def tools_of(self, source: Subject) -> dict[Subject, ToolRecord]:
        """Return the records of all tools that a source ever had, like `tool`."""
        record, tools = self.sources.get(source), self._tools.get(source, {})
        return {x: _with_source(tool, record) for x, tool in tools.items()}

    @property
    def count(self) -> int:
        """Return the number of known tools."""
        return sum(map(len, self._tools.values()))

    def plain_tool(self, subject: Subject) -> ToolRecord | None:
        """Return the record of a tool without the state of its source."""
        return self._tools.get(subject.anchor, {}).get(subject)

    def plain_tools(self) -> Iterator[ToolRecord]:
        """Yield all records of tools without the states of their sources."""
        return (x for tools in self._tools.values() for x in tools.values())

    def offered(self, source: Subject) -> list[tuple[Subject, str]]:
        """Return the tools that a source offers, by name, with the digests of their definitions."""
        tools = [x for x in self._tools.get(source, {}).values() if x.is_offered]
        tools.sort(key=lambda x: (x.subject.kind.name, x.name))
        return [(x.subject, x.definition) for x in tools]

    def forget(self, tools: Iterable[Subject]) -> None:
        """Remove these tools."""
        for subject in tools:
            del self._tools[subject.anchor][subject]

    def records(self) -> Records:
        """Return all records, like `tool`."""
        records = Records(dict(self.sources))
        for source, tools in self._tools.items():
            for subject, tool in tools.items():
                some = records.tools if subject.is_tool else records.features
                some[subject] = _with_source(tool, self.sources.get(source))
        return records

    def _put(self, record: ToolRecord) -> None:
        self._tools.setdefault(record.subject.anchor, {})[record.subject] = record


def is_usual_end(reason: str) -> bool:
    """Return whether a source is not connected only because nothing needs it now."""
    return reason.casefold() in _AS_USUAL


def _with_source(tool: ToolRecord, source: SourceRecord | None) -> ToolRecord:
    """Return a tool at rest if its source is not connected."""
    if source is None or not tool.is_available:
        return tool
    time = source.last_sync or tool.last_seen
    if source.is_connected:
        return tool if tool.last_seen == time else replace(tool, last_seen=time)
    return replace(
        tool, state="at rest", unavailable_since=source.disconnected_since,
        reason=source.reason, last_seen=time,
    )  # fmt: skip


def _fold_source(before: SourceRecord | None, event: Event) -> SourceRecord:
    """Return the source after this event."""
    record = before or SourceRecord(event.subject, event.time)
    match event.change:
        case "connected" | "reconnected" | "refreshed":
            return _listed(record, event)
        case "left":
            return replace(record, runs=tuple(x for x in record.runs if x != event.run))
        case "disconnected":
            return replace(record, runs=(), disconnected_since=event.time, reason=event.reason)
        case "failed":
            return replace(record, last_error=event.reason, failures=record.failures + 1)
        case _:
            return record


def _fold_tool(before: ToolRecord | None, event: Event, source: SourceRecord | None) -> ToolRecord:
    """Return the tool after this event, as `Fold` has it; `source` has been folded before."""
    subject, time = event.subject, event.time
    if before is None and event.change in ("seeded", "discovered"):  # many at a first connect
        return ToolRecord(subject, time, time, time, event.definition or "", "available")
    record = before or ToolRecord(subject, time, time, time)
    match event.change:
        case "seeded" | "discovered" | "changed" | "returned":
            return _reported(record, event)
        case "unavailable":
            # It was in the listing before the one without it.
            before_it = source.synced_before if source and record.is_available else None
            return replace(
                record, state="gone", unavailable_since=time, reason=event.reason,
                last_seen=before_it or record.last_seen,
            )  # fmt: skip
        case "called":
            return replace(record, usage=record.usage.with_calls([event]))
        case "begun":
            return replace(record, usage=replace(record.usage, unknown=record.usage.unknown + 1))
        case "enabled" | "disabled":
            return replace(record, is_enabled=event.change == "enabled")
        case "accepted":
            return replace(record, accepted=event.definition or "")
        case _:
            return record


def _listed(record: SourceRecord, event: Event) -> SourceRecord:
    payload = event.payload
    # `server_name` or `agent_name`, by the kind of the source.
    title = next((x for name, x in payload.items() if name.endswith("_name")), record.title)
    return replace(
        record,
        runs=record.runs if event.run in record.runs else (*record.runs, event.run),
        title=title,
        transport=payload.get("transport", record.transport),
        tool_count=payload["tool_count"],
        others={x.item: payload[y] for x in FEATURES if (y := f"{x.item}_count") in payload},
        inventory=event.definition or "",
        last_sync=event.time,
        synced_before=record.last_sync,
        last_error="",
        failures=0,
        disconnected_since=None,
        reason="",
    )


def _reported(record: ToolRecord, event: Event) -> ToolRecord:
    is_new = event.definition != record.definition
    return replace(
        record,
        definition=event.definition or "",
        state="available",
        unavailable_since=None,
        reason="",
        updated=event.time if is_new else record.updated,
        last_seen=event.time,
    )
