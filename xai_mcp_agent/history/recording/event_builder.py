"""Events from reports of sources and the earlier records; pure functions (spec 2, 4).

The log knows the usual payload of a change, and that of a tool from its definition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ...core.json import JsonObject
from ...core.tools import Tool
from ..event import Change, Event, Subject
from ..records import SourceRecord, ToolRecord
from ..wording import plain
from .reports import Listed, ListingDigest, Lost

NOT_LISTED = "It is no longer listed."
DISABLED = "`disabledTools` of its server's entry in the settings leaves it out."
_NAME_CHARS = 200  # of a name in a reason; servers may send longer ones


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
    change: Change = "connected"
    if before is not None:
        change = "refreshed" if run in before.runs else "reconnected"
    return Event(subject, change, report.time, payload, definition=listing.inventory, run=run)


def loss_events(report: Lost, source: SourceRecord | None, run: str) -> Iterator[Event]:
    """Yield events of a run that lost the source. The last run takes the tools along."""
    if source is not None and run in source.runs:
        is_last = source.runs == (run,)
        # The source stays connected while other runs have it.
        change: Change = "disconnected" if is_last else "left"
        yield Event(
            report.source, change, report.time, reason=report.reason,
            run=run, followed_by=0 if is_last else None,
        )  # fmt: skip


def tool_events(
    report: Listed,
    digests: Mapping[Subject, str],
    listed: Mapping[Subject, Tool],
    before: Mapping[Subject, ToolRecord],
    renames: Mapping[Subject, Subject],
) -> Iterator[Event]:
    """Yield the events of the `listed` tools that differ from `before`, and of missing ones.

    `renames` maps former tools to likely new ones.
    """
    former = {new: old for old, new in renames.items()}
    for subject in sorted(listed, key=lambda x: x.item):
        digest = digests[subject]
        change = _change_of(before.get(subject), digest)
        if change != "confirmed":
            old = former.get(subject)
            yield Event(
                subject, change, report.time, definition=digest,
                reason=f"Probably renamed from {_name(old)}." if old else "",
            )  # fmt: skip
    for subject in missing_tools(before, listed):
        reason = NOT_LISTED
        if subject.is_tool and subject.tool in report.disabled:
            reason = DISABLED
        elif new := renames.get(subject):
            reason = f"{NOT_LISTED[:-1]}; probably renamed to {_name(new)}."
        yield Event(subject, "unavailable", report.time, reason=reason)


def missing_tools(
    before: Mapping[Subject, ToolRecord], listed: Mapping[Subject, Tool]
) -> list[Subject]:
    """Return the tools of the last listing that are missing now, also after a loss."""
    missing = [x for x, record in before.items() if record.is_offered and x not in listed]
    return sorted(missing, key=lambda x: x.item)


def _change_of(record: ToolRecord | None, digest: str) -> Change:
    """Return the change of a tool in a listing with this definition."""
    if record is None or not record.definition:
        return "discovered"
    if record.definition != digest:
        return "changed"
    return "confirmed" if record.is_offered else "returned"


def _name(tool: Subject) -> str:
    return plain(tool.tool or "", _NAME_CHARS)
