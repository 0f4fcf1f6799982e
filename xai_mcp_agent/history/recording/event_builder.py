"""Turns reports into events, given the known records; pure functions (spec 2, 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache

from ...core.tools import JsonObject, Tool
from ..diff.wording import plain
from ..event import Change, Event, Links, Project, Subject, tool_payload
from ..records import Known, SourceRecord, ToolRecord, is_offered
from .reports import (
    Called,
    Decided,
    Failed,
    Learned,
    Listed,
    ListingDigest,
    Lost,
    Refused,
    Seeded,
)

_CONNECTED, _DISCONNECTED, _UNAVAILABLE = (
    {"status": status} for status in ("connected", "disconnected", "unavailable")
)
NOT_LISTED = "It is not listed any more."
DISABLED = "`disabledTools` of its server's entry in the settings leaves it out."
_NAME_CHARS = 200  # of a name in a reason; servers may send longer ones


class EventBuilder:
    """Makes the events of one run of one project."""

    def __init__(self, project: Project, run: str) -> None:
        self._project = project
        self._run = run

    def of_listing(
        self,
        report: Listed,
        seen: ListingDigest,
        known: Known,
        renames: Mapping[str, str] | None = None,
    ) -> Iterator[Event]:
        """A source connected, or listed its tools again. `renames` are likely, new ones by old."""
        renames = renames or {}
        was_called = {new: old for old, new in renames.items()}
        yield self.of_source(report, seen, known.source)
        for name, tool in seen.tools.items():
            record, digest = known.tools.get(name), seen.digests[name]
            if report.connected or report.is_forced or _is_news(record, digest):
                reason = _was_renamed(was_called.get(name))
                yield self._of_tool(report, tool, digest, record, known.source, reason)
        for record in known.vanished(seen.tools):
            is_disabled = record.name in report.disabled
            reason = DISABLED if is_disabled else _not_listed(renames.get(record.name))
            yield self._unavailable(record, report, reason)

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
        payload |= {"tool_count": len(seen.tools), **_CONNECTED}
        extends = (self._project.tools_id,)
        if before is None:
            links = Links(extends, related_to=(self._project.knowledge_id,))
            return self._event("connected", subject, report, payload, links, seen.inventory)
        change: Change = "reconnected" if report.connected else "refreshed"
        links = Links(extends, reinforces=(subject.context_id,))
        return self._event(change, subject, report, payload, links, seen.inventory)

    def of_loss(self, report: Lost, known: Known) -> Iterator[Event]:
        """A run does not have the source any more. The last one takes the tools along."""
        source, run = known.source, report.run or self._run
        if source is None or run not in source.runs:
            return
        subject, itself = report.source, (report.source.context_id,)
        if source.runs != (run,):
            links = Links(reinforces=itself)  # others have it, so it is true what is known of it
            yield self._event(
                "left", subject, report, _CONNECTED, links, reason=report.reason, run=run
            )
            return
        links = Links(contradicts=itself)
        yield self._event(
            "disconnected", subject, report, _DISCONNECTED, links, reason=report.reason, run=run
        )
        for record in known.available():
            yield self._unavailable(record, report, report.reason, run)

    def of_failure(self, report: Failed, known: SourceRecord | None) -> Iterator[Event]:
        """A source could not be reached or listed. Said once, until it is something else."""
        if known is None or known.last_error != report.problem:
            payload: JsonObject = {"status": "failed", "error": report.problem}
            links = Links(extends=(self._project.tools_id,))
            yield self._event(
                "failed", report.source, report, payload, links, reason=report.problem
            )

    def of_seeds(self, report: Seeded, digests: Mapping[str, str]) -> Iterator[Event]:
        """Tools that are there from the start."""
        links = Links((self._project.tools_id,), related_to=(self._project.knowledge_id,))
        for tool in report.tools:
            subject = Subject(report.kind, tool.source, tool.name)
            yield self._event("seeded", subject, report, _payload(tool), links, digests[tool.name])

    def of_call(self, report: Called) -> Event:
        """A call that is over."""
        payload: JsonObject = {
            "status": "error" if report.error else "ok",
            "seconds": round(report.seconds, 6),
        }
        for name in ("error", "arguments", "result"):
            if value := getattr(report, name):
                payload[name] = value
        return Event(
            report.tool, "called", report.time, payload,
            _links_of_call(report.tool),
            run=self._run, event_kind="action", source="executor",
        )  # fmt: skip

    def of_learning(self, report: Learned, intent: str) -> Event:
        """A tool was used for something that is remembered by this id; the words are elsewhere."""
        payload: JsonObject = {
            "status": "learned", "toolbelt": report.toolbelt, "intent": intent,
        }  # fmt: skip
        return Event(
            report.tool, "learned", report.time, payload, _links_of_call(report.tool),
            run=self._run, event_kind="action", source="executor",
        )  # fmt: skip

    def of_forgetting(self, tool: Subject, toolbelt: str, texts: int, time: datetime) -> Event:
        """A person had so many texts forgotten for which a tool was used."""
        payload: JsonObject = {"status": "forgotten", "toolbelt": toolbelt, "texts": texts}
        return Event(
            tool, "forgotten", time, payload, Links(contradicts=(tool.context_id,)),
            run=self._run, event_kind="decision", source="user",
        )  # fmt: skip

    def of_decision(self, report: Decided) -> Event:
        """What was decided about a tool, or about what a source says of its use."""
        return Event(
            report.tool, report.decision, report.time, {"status": report.decision},
            Links(extends=(report.tool.context_id,)),
            report.definition or None, run=self._run,
            event_kind="decision", source=report.teller,
        )  # fmt: skip

    def of_refusal(self, report: Refused) -> Event:
        """A call that was not made."""
        return Event(
            report.tool, "refused", report.time, {"status": "refused"},
            _links_of_call(report.tool), report.definition or None, report.reason,
            run=self._run, event_kind="action", source="executor",
        )  # fmt: skip

    def _of_tool(
        self,
        report: Listed,
        tool: Tool,
        digest: str,
        record: ToolRecord | None,
        source: SourceRecord | None,
        reason: str,
    ) -> Event:
        subject = Subject(report.source.kind, report.source.source, tool.name)
        extends, again = (report.source.context_id,), (subject.context_id,)
        change: Change
        if record is None or not record.definition:
            change, links = "discovered", Links(extends, related_to=(self._project.tools_id,))
        elif record.definition != digest:
            change, links = "changed", Links(extends, contradicts=again)
        else:
            change = "confirmed" if is_offered(record, source) else "returned"
            links = Links(extends, reinforces=again)
        return self._event(change, subject, report, _payload(tool), links, digest, reason=reason)

    def _unavailable(
        self, record: ToolRecord, report: Listed | Lost, reason: str, run: str = ""
    ) -> Event:
        links = Links(contradicts=(record.subject.context_id,))
        return self._event(
            "unavailable", record.subject, report, _UNAVAILABLE, links, reason=reason, run=run
        )

    def _event(
        self,
        change: Change,
        subject: Subject,
        report: Listed | Lost | Failed | Seeded,
        payload: JsonObject,
        links: Links,
        definition: str | None = None,
        *,
        reason: str = "",
        run: str = "",
    ) -> Event:
        run = run or self._run
        return Event(subject, change, report.time, payload, links, definition, reason, run)


@lru_cache(maxsize=1000)
def _links_of_call(tool: Subject) -> Links:
    return Links(extends=(tool.context_id,))


def _payload(tool: Tool) -> JsonObject:
    return tool_payload(tool.name, tool.description, tool.input_schema)


def _not_listed(new_name: str | None) -> str:
    if new_name is None:
        return NOT_LISTED
    return f"{NOT_LISTED[:-1]}; probably renamed to {plain(new_name, _NAME_CHARS)}."


def _was_renamed(old_name: str | None) -> str:
    return "" if old_name is None else f"Probably renamed from {plain(old_name, _NAME_CHARS)}."


def _is_news(record: ToolRecord | None, digest: str) -> bool:
    return record is None or not record.is_available or record.definition != digest
