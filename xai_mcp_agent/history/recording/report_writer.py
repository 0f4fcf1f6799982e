"""Writes reports as events and updates the records, in one transaction, in the writer thread."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby

from sqlalchemy import Connection

from ...core.results import tools_of_features
from ...core.tools import Tool, definition_text, digest_of
from ...secrets.redactor import redact_json
from ...settings.sections import Retention
from ..event import Event, Subject, item_of
from ..events_table import definitions_of
from ..history import History, open_history
from ..learned_rows import LearnedFilter, LearnedRow, forget, forgetting_events, learn
from ..records import ENDED, Fold, ToolRecord
from ..retention import is_due, prune
from ..runs import Runs
from ..tool_changes import likely_renames
from .call_journal import AbandonedJournal, CallReport, abandoned_journals
from .event_builder import loss_events, missing_tools, source_event, tool_events
from .reports import (
    Learned,
    Listed,
    ListingDigest,
    Lost,
    RecordUpdate,
    Report,
    Seeded,
    digest_listing,
)

_CHECK_SECONDS = 3600.0
_PART_AT_CLOSE = 0.2  # of the usual distance, so that the next process has less to fold


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
        self._checked_at = -math.inf  # for pruning
        self._last_history: History | None = None  # by the last transaction
        # The last listing of each source: most are listed again unchanged.
        self._listings: dict[Subject, ListingDigest] = {}
        self._connected: dict[Subject, Listed] = {}
        self._failures: dict[Subject, str] = {}  # the last one of each source in this process
        self._began = began
        self._appended: list[Event] = []  # by this transaction
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
        with self._transaction() as connection:
            for is_event, group in groupby(reports, lambda x: isinstance(x, Event | CallReport)):
                if is_event:
                    self._append(connection, self._news(group))
                else:
                    for report in group:
                        self._take_in(connection, report)
            update = self._update(reports)
        self._publish(update)

    def forget(self, which: LearnedFilter) -> list[LearnedRow]:
        """Delete learned requests; return them.

        Raises:
            StoreFailed: nothing was deleted.
        """
        with self._transaction() as connection:
            rows = forget(connection, self.history.project_id, which)
            self._append(connection, forgetting_events(rows))
        self.history.store.clear_traces()
        return rows

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
        last = self._checked_at
        if self._retention is None or time.monotonic() - last < _CHECK_SECONDS:
            return
        self._checked_at, now = time.monotonic(), datetime.now(UTC)
        if is_due(self.history, now):
            prune(self.history, self._retention, now)

    def close(self) -> None:
        """Record the end of this run, and close the store.

        Raises:
            StoreFailed: the end could not be recorded.
        """
        try:
            self._prune_if_due()
            self.history.store.back_up_if_due()
            with self._transaction() as connection:
                for source in tuple(self._connected):  # usually there is none
                    self._take_in(connection, Lost(source, datetime.now(UTC), ENDED))
                self._runs.end(connection)
                self.history.log.take_snapshot(connection, part=_PART_AT_CLOSE)
        finally:
            self.history.close()

    @property
    def _fold(self) -> Fold:
        return self.history.log.state

    def _append(
        self,
        connection: Connection,
        events: Iterable[Event],
        bodies: Mapping[str, str] | None = None,
    ) -> None:
        """Append events; `bodies` are definitions that they name and that may be new."""
        if new := list(events):
            self.history.log.append(connection, new, bodies or {}, self._runs.own)
            self._appended += new

    def _news(self, reports: Iterable[Report]) -> Iterator[Event]:
        """Yield these events, without repeated failures: each retry of a source fails alike."""
        for report in reports:
            event = report.event() if isinstance(report, CallReport) else report
            if isinstance(event, Event):
                if event.change == "failed":
                    if self._failures.get(event.subject) == event.reason:
                        continue
                    self._failures[event.subject] = event.reason
                yield event

    def _update(self, reports: Iterable[Report]) -> RecordUpdate:
        fold, changed = (
            self._fold,
            [x.subject for x in self._appended if x.subject.tool is not None],
        )
        complete = {x.subject for x in self._appended if x.followed_by is not None}
        tools = {x: fold.tools_of(x) for x in complete}
        for subject in changed:
            if subject.anchor not in complete and (record := fold.tool(subject)):
                tools.setdefault(subject.anchor, {})[subject] = record
        sources = (x.source for x in reports if isinstance(x, Listed))
        listed = {x: self._listings[x] for x in sources if x in self._listings}
        return RecordUpdate(tools, complete, listed)

    @contextmanager
    def _transaction(self) -> Generator[Connection]:
        connected, failures = dict(self._connected), dict(self._failures)
        journals: list[AbandonedJournal] = []
        try:
            with self.history.writing() as connection:
                self._appended = []
                self.history.log.catch_up(connection)
                is_new, now = not self._runs.beat(connection), datetime.now(UTC)
                if is_new:
                    self._begin_run(connection)
                    now, self._began = self._began or now, None
                if is_new or self._last_history is not self.history:
                    self._end_dead_runs(connection, now)
                if is_new:
                    journals = abandoned_journals(self.history.place)
                    self._add_abandoned_calls(connection, journals)
                    # The connected sources belong to the earlier run, which others ended.
                    for report in tuple(self._connected.values()):
                        self._listed(connection, replace(report, time=now))
                yield connection
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

    def _end_dead_runs(self, connection: Connection, time: datetime) -> None:
        """Record the loss of sources of ended runs."""
        sources = self._fold.sources
        others = {x for source in sources.values() for x in source.runs} - {self._runs.own}
        for run, end in self._runs.over(connection, others).items():
            for source in [x for x in sources.values() if run in x.runs]:
                lost = Lost(source.subject, time, end)
                self._append(connection, loss_events(lost, source, run))
            self._runs.end(connection, run)

    def _add_abandoned_calls(
        self, connection: Connection, journals: Iterable[AbandonedJournal]
    ) -> None:
        """Add the calls of processes that were killed before the store had them."""
        calls = sorted((call for x in journals for call in x.calls), key=lambda x: x.time)
        stored = self.history.log.calls_at(connection, [x.time for x in calls])
        self._append(connection, (x for x in calls if (x.subject, x.time) not in stored))

    def _take_in(self, connection: Connection, report: Report) -> None:
        match report:
            case Listed(source):
                self._failures.pop(source, None)
                self._listed(connection, report)
            case Lost(source):
                self._listings.pop(source, None)
                self._connected.pop(source, None)
                record = self._fold.sources.get(source)
                self._append(connection, loss_events(report, record, self._runs.own))
            case Seeded():
                self._seeded(connection, report)
            case Learned():
                self._append(connection, self._learn(connection, report))
            case _:
                pass  # `_news` has the events

    def _listed(self, connection: Connection, report: Listed) -> None:
        self._connected[report.source] = report
        features = tools_of_features(report.source.source, report.features)
        listing = digest_listing((*report.tools, *features), self._listings.get(report.source))
        self._listings[report.source] = replace(listing, texts={})
        record = self._fold.sources.get(report.source)
        source = source_event(report, listing, record, self._runs.own)
        is_of_all = source.change != "refreshed" or report.is_forced
        if record is not None and record.inventory == listing.inventory and not is_of_all:
            self._append(connection, [source])
            return
        before = self._fold.tools_of(report.source)
        listed = {item_of(report.source, x): tool for x, tool in listing.tools.items()}
        digests = {item_of(report.source, x): digest for x, digest in listing.digests.items()}
        renames = self._renames(connection, before, listed)
        changes = [*tool_events(report, digests, listed, before, renames)]
        source = replace(source, followed_by=len(changes)) if is_of_all else source
        texts = {
            x.definition: listing.texts.get(x.definition) or definition_text(listed[x.subject])
            for x in changes
            if x.definition and x.change != "returned"
        }
        bodies = {x: redact_json(text, self._mask) for x, text in texts.items()}
        self._append(connection, [source, *changes], bodies)

    def _renames(
        self,
        connection: Connection,
        before: Mapping[Subject, ToolRecord],
        listed: Mapping[Subject, Tool],
    ) -> dict[Subject, Subject]:
        """Return likely renames. Read definitions only if tools are missing and others are new."""
        missing = missing_tools(before, listed)
        new = [x for x in listed if x not in before or not before[x].is_offered]
        if not missing or not new:
            return {}
        stored = definitions_of(connection, {before[x].definition for x in missing})
        old = {x: stored[y] for x in missing if (y := before[x].definition) in stored}
        # Secrets are masked in both; the names are those of the events.
        bodies = {x: redact_json(definition_text(listed[x]), self._mask) for x in new}
        return likely_renames(old, {x: json.loads(body) for x, body in bodies.items()})

    def _seeded(self, connection: Connection, report: Seeded) -> None:
        events, bodies = list[Event](), dict[str, str]()
        for tool in report.tools:
            subject, text = Subject(report.kind, tool.source, tool.name), definition_text(tool)
            digest = digest_of(text)
            if self._is_new(subject, digest):
                events.append(Event(subject, "seeded", report.time, definition=digest))
                bodies[digest] = redact_json(text, self._mask)
        self._append(connection, events, bodies)

    def _is_new(self, tool: Subject, digest: str) -> bool:
        """Return whether it differs from the last report of this process, in any run."""
        record = self._fold.tool(tool)
        if record is None or not record.is_available or record.definition != digest:
            return True
        # A record from the future was written before a clock was set back.
        return not self._runs.process_began <= record.last_seen <= datetime.now(UTC)

    def _learn(self, connection: Connection, report: Learned) -> list[Event]:
        return learn(
            connection, self.history.log, report.tool, report.toolbelt, report.texts, report.time,
            self._redact,
        )  # fmt: skip
