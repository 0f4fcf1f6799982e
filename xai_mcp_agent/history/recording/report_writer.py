"""Writes reports as events and updates the records, in one transaction, in the writer thread."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from sqlalchemy import Connection

from ...core.json import JsonObject
from ...core.results import tools_of_features
from ...core.tools import ItemKey, Tool, definition_text, digest_of, item_key
from ...secrets.redactor import redact_json
from ...settings.sections import Retention
from ..event import Change, Event, Subject, item_of
from ..events_table import calls_at, definitions_of
from ..history import History, open_history
from ..learned_rows import Learning
from ..log import EventLog
from ..records import ENDED, Fold, SourceRecord, SourceState, ToolRecord
from ..retention import is_due, prune
from ..runs import Runs
from ..tool_changes import likely_renames
from .call_journal import AbandonedJournal, CallReport, abandoned_journals
from .event_builder import (
    failure_event,
    listing_events,
    loss_events,
    seed_events,
    source_event,
)
from .reports import (
    Failed,
    Learned,
    Listed,
    ListingDigest,
    Lost,
    RecordUpdate,
    Report,
    Seeded,
    by_source,
    digest_listing,
)

T = TypeVar("T")

_CHECK_SECONDS = 3600.0
_PART_AT_CLOSE = 0.2  # of the usual distance, so that the next process has less to fold


class _Batch:
    """Events of one transaction, written before the state is read."""

    def __init__(self, connection: Connection, log: EventLog, run: str) -> None:
        self.connection = connection
        self.changed: set[Subject] = set()
        """Tools whose record changed, and sources all of whose tools may have changed."""
        self._log, self._run = log, run
        self._new: list[Event] = []
        self._bodies: dict[str, str] = {}
        log.catch_up(connection)

    @property
    def fold(self) -> Fold:
        """Return the current state."""
        self.write()
        return self._log.state

    def source(self, source: Subject) -> SourceRecord | None:
        """Return the current record of a source."""
        return self.fold.sources.get(source)

    def add(self, events: Iterable[Event], bodies: Mapping[str, str] | None = None) -> None:
        """Add events; `bodies` are definitions that they name and that may be new."""
        for event in events:
            self._new.append(event)
            if event.subject.tool is not None or event.followed_by is not None:
                self.changed.add(event.subject)
        self._bodies |= bodies or {}

    def write(self) -> None:
        """Write everything that was added."""
        new, bodies = self._new, self._bodies
        self._new, self._bodies = [], {}
        if new:
            self._log.append(self.connection, new, bodies, self._run)


class ReportWriter:
    """Records the reports of one run. `mask` hides secrets in texts of sources.

    `began` is the start of the run, before its first report, which may have waited for the store.
    `publish` gets each update, in the same thread. `redact` also masks texts of people that look
    like secrets. Events older than `keep` allows are removed now and then. `run` is the id of the
    run.
    """

    def __init__(
        self,
        history: History,
        mask: Callable[[str], str],
        began: datetime | None = None,
        publish: Callable[[RecordUpdate], None] = lambda _: None,
        redact: Callable[[str], str] | None = None,
        keep: Retention | None = None,
        run: str = "",
    ) -> None:
        self.history = history  # replaced if it has to be opened again
        self._mask, self._redact, self._publish = mask, redact or mask, publish
        self._retention = keep
        self._checked_at: float | None = None  # for pruning
        self._last_history: History | None = None  # by the last transaction
        # The last listing of each source: most are listed again unchanged.
        self._listings: dict[Subject, ListingDigest] = {}
        self._connected: dict[Subject, Listed] = {}
        self._failures: dict[Subject, str] = {}  # the last one of each source in this process
        self._began = began
        self._runs = Runs(history.project_id, run)  # not begun
        self.record(())

    def open_again(self) -> None:
        """Continue in a newly opened store if this one is broken."""
        if not self.history.store.is_usable:
            self.history.close()
            self.history = open_history(self.history.place)

    def record(self, reports: Iterable[Report]) -> None:
        """Write all of these, or nothing. Without any, it records that this run is alive.

        Raises:
            StoreFailed: nothing was written; the same reports may be recorded later.
        """
        reports = tuple(reports)
        with self._batch() as batch:
            for report in reports:
                self._take_in(batch, report)
            self._learn(batch, [x for x in reports if isinstance(x, Learned)])
            update = self._update(batch, reports)
        self._publish(update)

    def forget(self, forget: Callable[[Learning], T]) -> T:
        """Delete learned requests; return the result of `forget`.

        Raises:
            StoreFailed: nothing was deleted.
        """
        with self._batch() as batch:
            result = forget(self._learning(batch, datetime.now(UTC)))
        self.history.store.clear_traces()
        return result

    def look_after(self) -> None:
        """Record that this run is alive; prune the log and back it up, if either is due.

        Raises:
            StoreFailed: the store failed.
        """
        self.record(())
        self._prune_if_due()
        self.history.store.back_up_if_due()

    def _prune_if_due(self) -> None:
        """Prune the log, if no process did so for a day."""
        now, last = time.monotonic(), self._checked_at
        if self._retention is None or (last is not None and now - last < _CHECK_SECONDS):
            return
        with self.history.reading() as connection:
            due = is_due(connection, self.history.project_id, datetime.now(UTC))
        is_all = not due or prune(self.history, self._retention, datetime.now(UTC)).is_all
        self._checked_at = now if is_all else None

    def close(self) -> None:
        """Record the end of this run, and close the store.

        Raises:
            StoreFailed: the end could not be recorded.
        """
        try:
            self._prune_if_due()
            self.history.store.back_up_if_due()
            with self._batch() as batch:
                for source in tuple(self._connected):  # usually there is none
                    self._take_in(batch, Lost(source, datetime.now(UTC), ENDED))
                self._runs.end(batch.connection)
                batch.write()
                self.history.log.take_snapshot(batch.connection, part=_PART_AT_CLOSE)
        finally:
            self.history.close()

    def _update(self, batch: _Batch, reports: Iterable[Report]) -> RecordUpdate:
        fold = batch.fold
        complete = {x for x in batch.changed if x.tool is None}
        of_tools = (fold.tool(x) for x in batch.changed if x.anchor not in complete)
        tools = [x for x in of_tools if x is not None]
        tools += (x for source in complete for x in fold.source_state(source).tools.values())
        sources = (x.source for x in reports if isinstance(x, Listed))
        listed = {x: self._listings[x] for x in sources if x in self._listings}
        return RecordUpdate(by_source(tools), complete, listed)

    @contextmanager
    def _batch(self) -> Generator[_Batch]:
        connected, failures = dict(self._connected), dict(self._failures)
        journals: list[AbandonedJournal] = []
        try:
            with self.history.writing() as connection:
                is_new, now = not self._runs.beat(connection), datetime.now(UTC)
                if is_new:
                    self._begin_run(connection)
                    now, self._began = self._began or now, None
                batch = _Batch(connection, self.history.log, self._runs.own)
                if is_new or self._last_history is not self.history:
                    self._end_dead_runs(batch, now)
                if is_new:
                    journals = abandoned_journals(self.history.place)
                    self._add_abandoned_calls(batch, journals)
                    # The connected sources belong to the earlier run, which others ended.
                    for report in tuple(self._connected.values()):
                        self._listed(batch, replace(report, time=now))
                yield batch
                batch.write()
            self._last_history = self.history
        except BaseException:
            self._connected, self._failures = connected, failures
            for journal in journals:
                journal.release()
            raise
        for journal in journals:
            journal.remove()

    def _begin_run(self, connection: Connection) -> None:
        """Begin the run, or a new one if others ended it, for example while the machine slept."""
        if not self._runs.begin(connection):
            self._runs = Runs(self.history.project_id)
            self._runs.begin(connection)

    def _end_dead_runs(self, batch: _Batch, time: datetime) -> None:
        """Record the loss of sources of ended runs."""
        sources = batch.fold.sources
        others = {x for source in sources.values() for x in source.runs} - {self._runs.own}
        for run, end in self._runs.over(batch.connection, others).items():
            for source in [x for x in sources.values() if run in x.runs]:
                batch.add(loss_events(Lost(source.subject, time, end), source, run))
                batch.write()
            self._runs.end(batch.connection, run)

    def _add_abandoned_calls(self, batch: _Batch, journals: Iterable[AbandonedJournal]) -> None:
        """Add the calls of processes that were killed before the store had them."""
        calls = sorted((call for x in journals for call in x.calls), key=lambda x: x.time)
        times = [x.time for x in calls]
        stored = calls_at(batch.connection, self.history.project_id, times)
        batch.add(x for x in calls if (x.subject.digest, x.time) not in stored)

    def _take_in(self, batch: _Batch, report: Report) -> None:
        match report:
            case CallReport():
                batch.add([report.event()])
            case Event():
                batch.add([report])
            case Listed(source):
                self._failures.pop(source, None)
                self._listed(batch, report)
            case Lost(source):
                self._listings.pop(source, None)
                self._connected.pop(source, None)
                batch.add(loss_events(report, batch.source(source), self._runs.own))
            case Failed(source, _, problem):
                # Each retry of a source fails in the same way.
                if self._failures.get(source) != problem:
                    self._failures[source] = problem
                    batch.add([failure_event(report)])
            case Seeded():
                self._seeded(batch, report)
            case Learned():
                pass  # `record` learns from all of them at once

    def _listed(self, batch: _Batch, report: Listed) -> None:
        self._connected[report.source] = report
        features = tools_of_features(report.source.source, report.features)
        listing = digest_listing((*report.tools, *features), self._listings.get(report.source))
        self._listings[report.source] = replace(listing, texts={})
        source = batch.source(report.source)
        if source is None or self._runs.own not in source.runs:
            report = replace(report, connected=True)
        is_as_before = source is not None and source.inventory == listing.inventory
        if is_as_before and not (report.connected or report.is_forced):
            batch.add([source_event(report, listing, source, self._runs.own)])
            return
        before = batch.fold.source_state(report.source)
        missing, new = before.missing_tools(listing.tools), before.new_tools(listing.tools)
        renames = self._renames(batch, report.source, missing, new)
        events = listing_events(report, listing, before, renames, self._runs.own)
        batch.add(events, self._bodies(listing, before))

    def _renames(
        self, batch: _Batch, source: Subject, missing: list[ToolRecord], new: list[Tool]
    ) -> dict[Subject, Subject]:
        """Return likely renames. Read definitions only if tools are missing and others are new."""
        if not missing or not new:
            return {}
        batch.write()  # definitions of this transaction may be among them
        before = definitions_of(batch.connection, {x.definition for x in missing})
        old = {x.subject: before[x.definition] for x in missing if x.definition in before}
        # Secrets are masked in both; the names are those of the events.
        definitions = {item_of(source, item_key(x)): json.loads(self._body(x)) for x in new}
        return likely_renames(old, definitions)

    def _bodies(self, listing: ListingDigest, before: SourceState) -> dict[str, str]:
        """Return the definitions that differ from the known ones, by their digests."""
        new = {d: x for x, d in listing.digests.items() if not _has_definition(before, x, d)}
        texts = {
            d: listing.texts.get(d) or definition_text(listing.tools[x]) for d, x in new.items()
        }
        return {digest: redact_json(text, self._mask) for digest, text in texts.items()}

    def _seeded(self, batch: _Batch, report: Seeded) -> None:
        digests = {tool.name: digest_of(definition_text(tool)) for tool in report.tools}
        new = [x for x in report.tools if self._is_new(batch, report, x, digests[x.name])]
        bodies = {digests[tool.name]: self._body(tool) for tool in new}
        report = replace(report, tools=tuple(new))
        batch.add(seed_events(report, digests), bodies)

    def _is_new(self, batch: _Batch, report: Seeded, tool: Tool, digest: str) -> bool:
        """Return whether it differs from the last report of this process, in any run."""
        record = batch.fold.tool(Subject(report.kind, tool.source, tool.name))
        if record is None or not record.is_available or record.definition != digest:
            return True
        # A record from the future was written before a clock was set back.
        return not self._runs.process_began <= record.last_seen <= datetime.now(UTC)

    def _learn(self, batch: _Batch, reports: Sequence[Learned]) -> None:
        if not reports:
            return
        learning = self._learning(batch, min(x.time for x in reports))
        for report in reports:
            report.learn(learning, report.time)
        learning.prune()

    def _learning(self, batch: _Batch, since: datetime) -> Learning:
        def note(change: Change, tool: Subject, time: datetime, payload: JsonObject) -> None:
            batch.add([Event(tool, change, time, payload)])

        return Learning(
            batch.connection, self.history.project_id, redact=self._redact, note=note, since=since
        )

    def _body(self, tool: Tool) -> str:
        return redact_json(definition_text(tool), self._mask)


def _has_definition(before: SourceState, key: ItemKey, digest: str) -> bool:
    record = before.tools.get(key)
    return record is not None and record.definition == digest
