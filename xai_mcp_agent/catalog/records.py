"""Tool records in memory, with this process's unwritten decisions folded in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ..core.kinds import kind_named
from ..core.tools import JsonObject, ToolKey
from ..history.event import Subject
from ..history.recording.event_builder import events_of_decision
from ..history.recording.reports import Decided, RecordUpdate
from ..history.records import ToolRecord, fold_tool

_MOST_GONE = 1000  # of a source's tools that are not there any more

_Records = dict[Subject, ToolRecord]


class ToolRecords:
    """The newest records that were told of, each with this process's decisions folded in.

    `definitions` are the accepted ones, by their digests.
    """

    def __init__(self) -> None:
        self.definitions: dict[str, JsonObject] = {}
        self._kept: dict[Subject, _Records] = {}  # by source
        self._unwritten: dict[Subject, list[Decided]] = {}
        # Of those about which something is decided, or was and is not written down yet.
        self._decided: dict[ToolKey, ToolRecord] = {}

    def get(self, key: ToolKey) -> ToolRecord | None:
        """What is known of a tool."""
        return self._decided.get(key) or self._kept_of(
            Subject(kind_named(key.kind), key.source, key.name)
        )

    def decided(self, key: ToolKey) -> ToolRecord | None:
        """The same, if anything was decided about the tool: quick, it is asked for all tools."""
        return self._decided.get(key)

    def of(self, source: str) -> Iterator[ToolRecord]:
        """What is known of the tools of a source."""
        decided = {x.subject: x for x in self._decided.values() if x.subject.source == source}
        for records in [x for anchor, x in self._kept.items() if anchor.source == source]:
            for subject, record in records.items():
                yield decided.pop(subject, record) if decided else record
        yield from decided.values()  # of which nothing is written down yet

    def decide(self, report: Decided) -> bool:
        """Have a decision count from now on; whether it makes a difference."""
        self._unwritten.setdefault(report.tool, []).append(report)
        return self._count(report.tool)

    def take(self, update: RecordUpdate) -> set[str]:
        """Take newer records in; the sources of tools about which something else is decided."""
        self.definitions |= update.definitions
        affected = {report.tool for report in update.settled}
        for report in update.settled:
            self._settle(report)
        affected |= self._switched_on(update)
        for source, records in update.tools.items():
            affected |= self._take_source(source, records, is_whole=source in update.whole)
            if not update.decided:  # else somebody asked for them
                _forget_gone(self._kept[source])
        return {x.source for x in affected if self._count(x)}

    def _take_source(
        self, source: Subject, records: Mapping[Subject, ToolRecord], *, is_whole: bool
    ) -> set[Subject]:
        known = self._kept.get(source, {})
        affected = {*_with_decisions(known), *_with_decisions(records)}
        if not is_whole:
            affected &= records.keys()
        affected |= self._unwritten.keys() & records.keys()
        # What was accepted is not taken back, unless a history is lost: then it goes on to count.
        accepted = {x: known[x] for x in affected if x in known and known[x].accepted}
        if is_whole:
            known = self._kept[source] = dict(records)
        else:
            known = self._kept.setdefault(source, {})
            known.update(records)
        for subject, before in accepted.items():
            if not (now := known.get(subject, before)).accepted or subject not in known:
                known[subject] = replace(now, accepted=before.accepted)
        return affected

    def _switched_on(self, update: RecordUpdate) -> set[Subject]:
        """Those that were off, and of which a question for what is off says nothing any more."""
        found: set[Subject] = set()
        for record in self._decided.values() if update.decided else ():
            subject = record.subject
            told, kept = update.tools.get(subject.anchor, {}), self._kept_of(subject)
            if subject.source in update.decided and subject not in told and kept:
                self._kept[subject.anchor][subject] = replace(kept, is_enabled=True)
                found.add(subject)
        return found

    def _settle(self, report: Decided) -> None:
        left = [x for x in self._unwritten.pop(report.tool, ()) if x is not report]
        if left:
            self._unwritten[report.tool] = left

    def _count(self, subject: Subject) -> bool:
        """Have what is known of a tool, and was decided, be what counts; whether it is new."""
        record = self._kept_of(subject)
        for report in self._unwritten.get(subject, ()):
            for event in events_of_decision(report, record):
                record = fold_tool(record, event)
        before = self._decided.pop(subject.key, None)
        if record is not None and (_is_decided(record) or subject in self._unwritten):
            self._decided[subject.key] = record
        return _standing(before) != _standing(record)

    def _kept_of(self, subject: Subject) -> ToolRecord | None:
        return self._kept.get(subject.anchor, {}).get(subject)


def _is_decided(record: ToolRecord) -> bool:
    return bool(record.accepted) or not record.is_enabled


def _forget_gone(known: _Records) -> None:
    """Tools may come and go for days. What is decided of them is kept, and all in the history."""
    if len(known) > _MOST_GONE:
        gone = [k for k, x in known.items() if not (x.is_available or _is_decided(x))]
        for subject in gone[:-_MOST_GONE]:
            del known[subject]


def _with_decisions(records: Mapping[Subject, ToolRecord]) -> Iterable[Subject]:
    return (subject for subject, record in records.items() if _is_decided(record))


def _standing(record: ToolRecord | None) -> tuple[bool, str]:
    return (True, "") if record is None else (record.is_enabled, record.accepted)
