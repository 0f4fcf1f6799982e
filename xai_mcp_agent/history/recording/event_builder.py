"""Turns reports into events, given the known records; pure functions (spec 2, 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from ...core.json import JsonObject
from ...core.tools import ItemKey, Tool
from ..event import (
    Change,
    Event,
    Subject,
    item_of,
    tool_payload,
    usual_payload,
)
from ..records import Known, SourceRecord, ToolRecord, is_offered
from ..wording import plain
from .reports import (
    Begun,
    Called,
    Decided,
    Failed,
    Listed,
    ListingDigest,
    Lost,
    Seeded,
)

NOT_LISTED = "It is not listed any more."
DISABLED = "`disabledTools` of its server's entry in the settings leaves it out."
UNKNOWN = "Its process ended before it was over: it is not known whether it was carried out."
_NAME_CHARS = 200  # of a name in a reason; servers may send longer ones


class EventBuilder:
    """Makes the events of one run. What they link to follows from what they are."""

    def __init__(self, run: str) -> None:
        self._run = run

    def of_listing(
        self,
        report: Listed,
        seen: ListingDigest,
        known: Known,
        renames: Mapping[ItemKey, ItemKey] | None = None,
    ) -> Iterator[Event]:
        """A source connected, or listed its tools again. `renames` are likely, new ones by old."""
        renames = renames or {}
        was_called = {new: old for old, new in renames.items()}
        told: list[Event] = []
        for key, tool in sorted(seen.tools.items()):
            record, digest = known.tools.get(key), seen.digests[key]
            if (change := _change_of(record, digest, known.source)) != "confirmed":
                subject = item_of(report.source, key)
                reason = _was_renamed(was_called.get(key))
                payload = _payload(tool)
                told.append(self._event(change, subject, report, payload, digest, reason=reason))
        for record in known.vanished(seen.tools):
            is_disabled = record.subject.is_tool and record.name in report.disabled
            reason = DISABLED if is_disabled else _not_listed(renames.get(record.subject.item))
            told.append(self._event("unavailable", record.subject, report, reason=reason))
        source = self.of_source(report, seen, known.source)
        is_of_all = report.connected or report.is_forced
        yield replace(source, followed_by=len(told)) if is_of_all else source
        yield from told

    def of_source(self, report: Listed, seen: ListingDigest, known: SourceRecord | None) -> Event:
        """The source itself is there. All there is to say when it lists what it listed before."""
        subject, title = report.source, report.title or report.source.source
        before = known if known and known.last_sync else None  # it may only have failed so far
        payload: JsonObject = {f"{subject.kind.noun}_id": subject.source}
        # Told at first, and when it is not as before: another version, another address.
        if before is None or title != before.title:
            payload |= {f"{subject.kind.noun}_name": title}
        if before is None or report.transport != before.transport:
            payload |= {"transport": report.transport}
        counts = Counter(item for item, _ in seen.tools)
        payload |= {"tool_count": counts.pop("tool", 0)}
        payload |= {f"{item}_count": number for item, number in sorted(counts.items())}
        payload["status"] = "connected"
        again: Change = "reconnected" if report.connected else "refreshed"
        change = "connected" if before is None else again
        return self._event(change, subject, report, payload, seen.inventory)

    def of_loss(self, report: Lost, source: SourceRecord | None) -> Iterator[Event]:
        """A run does not have the source any more. The last one takes the tools along."""
        run = report.run or self._run
        if source is None or run not in source.runs:
            return
        is_last = source.runs == (run,)
        # Where others have it still, it is true what is known of it.
        change: Change = "disconnected" if is_last else "left"
        event = self._event(change, report.source, report, reason=report.reason, run=run)
        yield replace(event, followed_by=0) if is_last else event

    def of_failure(self, report: Failed) -> Event:
        """A source could not be reached or listed. How often the same went wrong is one event."""
        payload: JsonObject = {"status": "failed", "error": report.problem}
        if report.times > 1:
            payload["times"] = report.times
        return self._event("failed", report.source, report, payload, reason=report.problem)

    def of_seeds(self, report: Seeded, digests: Mapping[str, str]) -> Iterator[Event]:
        """Tools that are there from the start."""
        for tool in report.tools:
            subject = Subject(report.kind, tool.source, tool.name)
            yield self._event("seeded", subject, report, _payload(tool), digests[tool.name])

    def of_call(self, report: Called) -> Event:
        """A call that is over."""
        payload: JsonObject = {
            "status": "error" if report.error else "ok",
            "seconds": round(report.seconds, 6),
        }
        if report.error:
            payload["error"] = report.error
        if report.arguments is not None:
            payload["arguments"] = report.arguments
        if report.result is not None:
            payload["result"] = report.result
        if report.structured is not None:
            payload["structured"] = report.structured
        payload |= report.by
        return Event(report.tool, "called", report.time, payload, run=self._run)

    def of_begun(self, report: Begun) -> Event:
        """A call of which the end is not known."""
        payload: JsonObject = {"status": "unknown"}
        if report.arguments:
            payload["arguments"] = report.arguments
        return self._event("begun", report.tool, report, payload | dict(report.by), reason=UNKNOWN)

    def of_decision(self, report: Decided) -> Event:
        """What was decided about a tool, or about what a source says of its use."""
        return Event(
            report.tool, report.decision, report.time, {"status": report.decision},
            definition=report.definition or None, run=self._run, teller=report.teller,
        )  # fmt: skip

    def of_learning(
        self, change: Change, tool: Subject, time: datetime, payload: JsonObject
    ) -> Event:
        """What was learned of the use of a tool, or forgotten."""
        return Event(tool, change, time, payload, run=self._run)

    def _event(
        self,
        change: Change,
        subject: Subject,
        report: Listed | Lost | Failed | Seeded | Begun,
        payload: JsonObject | None = None,
        definition: str | None = None,
        *,
        reason: str = "",
        run: str = "",
    ) -> Event:
        payload = usual_payload(change) if payload is None else payload
        return Event(
            subject, change, report.time, payload, definition=definition, reason=reason,
            run=run or self._run,
        )  # fmt: skip


def _payload(tool: Tool) -> JsonObject:
    return tool_payload(tool.name, tool.description, tool.input_schema)


def _not_listed(new: ItemKey | None) -> str:
    if new is None:
        return NOT_LISTED
    return f"{NOT_LISTED[:-1]}; probably renamed to {plain(new[1], _NAME_CHARS)}."


def _was_renamed(old: ItemKey | None) -> str:
    return "" if old is None else f"Probably renamed from {plain(old[1], _NAME_CHARS)}."


def _change_of(record: ToolRecord | None, digest: str, source: SourceRecord | None) -> Change:
    """What it says of a tool that it is listed with this definition."""
    if record is None or not record.definition:
        return "discovered"
    if record.definition != digest:
        return "changed"
    return "confirmed" if is_offered(record, source) else "returned"
