"""Events from reports of sources and the earlier records; pure functions (spec 2, 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...core.json import JsonObject
from ...core.tools import Tool
from ..event import Change, Event, Subject, item_of, tool_payload, usual_payload
from ..records import SourceRecord, SourceState, ToolRecord, is_offered
from ..wording import plain
from .reports import Failed, Listed, ListingDigest, Lost, Seeded

NOT_LISTED = "It is no longer listed."
DISABLED = "`disabledTools` of its server's entry in the settings leaves it out."
_NAME_CHARS = 200  # of a name in a reason; servers may send longer ones


def listing_events(
    report: Listed,
    listing: ListingDigest,
    before: SourceState,
    renames: Mapping[Subject, Subject],
    run: str,
) -> Iterator[Event]:
    """Yield the events of a listing. `renames` maps former tools to likely new ones."""
    changes = [
        *_changed(report, listing, before, renames),
        *_vanished(report, listing, before, renames),
    ]
    source = source_event(report, listing, before.source, run)
    is_of_all = report.connected or report.is_forced
    yield replace(source, followed_by=len(changes)) if is_of_all else source
    yield from changes


def source_event(
    report: Listed, listing: ListingDigest, record: SourceRecord | None, run: str
) -> Event:
    """Return the event of the source itself, the only one if its listing is unchanged."""
    subject, title = report.source, report.title or report.source.source
    before = record if record and record.last_sync else None  # it may only have failed so far
    payload: JsonObject = {f"{subject.kind.noun}_id": subject.source}
    # Only at first and after changes, such as of the version or the address.
    if before is None or title != before.title:
        payload |= {f"{subject.kind.noun}_name": title}
    if before is None or report.transport != before.transport:
        payload |= {"transport": report.transport}
    counts = Counter(item for item, _ in listing.tools)
    payload |= {"tool_count": counts.pop("tool", 0)}
    payload |= {f"{item}_count": number for item, number in sorted(counts.items())}
    payload["status"] = "connected"
    again: Change = "reconnected" if report.connected else "refreshed"
    change = "connected" if before is None else again
    return Event(subject, change, report.time, payload, definition=listing.inventory, run=run)


def loss_events(report: Lost, source: SourceRecord | None, run: str) -> Iterator[Event]:
    """Yield events of a run that lost the source. The last run takes the tools along."""
    if source is not None and run in source.runs:
        is_last = source.runs == (run,)
        # The source stays connected while other runs have it.
        change: Change = "disconnected" if is_last else "left"
        yield Event(
            report.source, change, report.time, usual_payload(change), reason=report.reason,
            run=run, followed_by=0 if is_last else None,
        )  # fmt: skip


def failure_event(report: Failed) -> Event:
    """Return the event of a source that could not be reached or listed."""
    payload: JsonObject = {"status": "failed", "error": report.problem}
    return Event(report.source, "failed", report.time, payload, reason=report.problem)


def seed_events(report: Seeded, digests: Mapping[str, str]) -> Iterator[Event]:
    """Yield events of tools that exist from the start."""
    for tool in report.tools:
        subject = Subject(report.kind, tool.source, tool.name)
        yield Event(subject, "seeded", report.time, _payload(tool), definition=digests[tool.name])


def _changed(
    report: Listed, listing: ListingDigest, before: SourceState, renames: Mapping[Subject, Subject]
) -> Iterator[Event]:
    former = {new: old for old, new in renames.items()}
    for key, tool in sorted(listing.tools.items()):
        digest = listing.digests[key]
        change = _change_of(before.tools.get(key), digest, before.source)
        if change != "confirmed":
            subject = item_of(report.source, key)
            old = former.get(subject)
            yield Event(
                subject, change, report.time, _payload(tool), definition=digest,
                reason=f"Probably renamed from {_name(old)}." if old else "",
            )  # fmt: skip


def _vanished(
    report: Listed, listing: ListingDigest, before: SourceState, renames: Mapping[Subject, Subject]
) -> Iterator[Event]:
    for record in before.missing_tools(listing.tools):
        reason = NOT_LISTED
        if record.subject.is_tool and record.name in report.disabled:
            reason = DISABLED
        elif new := renames.get(record.subject):
            reason = f"{NOT_LISTED[:-1]}; probably renamed to {_name(new)}."
        payload = usual_payload("unavailable")
        yield Event(record.subject, "unavailable", report.time, payload, reason=reason)


def _change_of(record: ToolRecord | None, digest: str, source: SourceRecord | None) -> Change:
    """Return the change of a tool in a listing with this definition."""
    if record is None or not record.definition:
        return "discovered"
    if record.definition != digest:
        return "changed"
    return "confirmed" if is_offered(record, source) else "returned"


def _payload(tool: Tool) -> JsonObject:
    return tool_payload(tool.name, tool.description, tool.input_schema)


def _name(tool: Subject) -> str:
    return plain(tool.tool or "", _NAME_CHARS)
