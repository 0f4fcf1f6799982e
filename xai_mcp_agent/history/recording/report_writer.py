"""Writes reports as events and updates the records, in one transaction, in the writer thread."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy import Connection

from ...core.tools import Tool, definition_text, digest_of
from ...secrets.redactor import redact_json
from ...secrets.speech import kept_speech
from ...settings.sections import Retention
from .. import learned, log
from ..diff.renames import likely_renames
from ..event import Forgotten, Subject
from ..intents import KeptIntent, Which, forget, forgotten_since, keep, keep_bounds
from ..kept_definitions import kept_definitions
from ..learned import Learnings
from ..learned_calls import calls_as_json
from ..projection import Projection, Snapshots, rebuild_stale
from ..records import ENDED, Known, ToolRecord
from ..retention import is_due, prune
from ..runs import Runs
from ..store import Store
from .call_journal import LeftBehind, left_behind
from .damping import Damping, Repeated
from .event_builder import EventBuilder
from .reports import (
    Answered,
    Called,
    Decided,
    Failed,
    Learned,
    LearnedRun,
    Listed,
    ListingDigest,
    Lost,
    RecordUpdate,
    Refused,
    Report,
    Seeded,
    by_source,
    digest_listing,
)

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 3600.0
_END_LOST = "Its process ended; what the history had of that was lost."


class ReportWriter:
    """Records the reports of one run. `mask` hides what is secret in the words of strangers.

    `began` is when the run did: before the first report, which may have waited for the store.
    What was written is given to `publish`, in the same thread. `redact` hides more, also what only
    looks like a secret, in what people said. What is not to be kept any more, as `keep` says, is
    removed now and then; without it nothing is. `warn` is told of what a person should know. `run`
    is the id of the run.
    """

    def __init__(
        self,
        store: Store,
        mask: Callable[[str], str],
        began: datetime | None = None,
        publish: Callable[[RecordUpdate], None] | None = None,
        redact: Callable[[str], str] | None = None,
        keep: Retention | None = None,
        warn: Callable[[str], None] = logger.warning,
        run: str = "",
    ) -> None:
        self._retention = keep
        self._damping, self._repeated = Damping(store.project_id, warn), Repeated()
        self._looked: float | None = None  # for what is too old
        self.store = store  # another one takes its place when it has to be opened anew
        self._used: Store | None = None  # by the last transaction
        self._snapshots = Snapshots(store.project_id)
        self._mask = mask
        self._publish = publish
        self._redact = redact or mask
        # Of the last listing of each source: most are listed again as they were.
        self._seen: dict[Subject, ListingDigest] = {}
        self._connected: dict[Subject, Listed] = {}
        self._began = began
        self._runs = Runs(store.project_id, run)  # not begun
        self._changes = EventBuilder(store.project, self._runs.own)
        self._left: list[LeftBehind] = []  # that the transaction takes in
        self.beat()

    def record(self, reports: Iterable[Report]) -> None:
        """Write all of these down, or nothing.

        Raises:
            StoreFailed: nothing was written; the same reports may be recorded later.
        """
        taken = tuple(reports)
        with self._page() as projection:
            for report in taken:
                self._take_in(projection, report)
            self._release(projection)
            self._learned(projection, [x for x in taken if isinstance(x, Learned)])
            self._learned_runs(projection, [x for x in taken if isinstance(x, LearnedRun)])
        if self._publish is not None:
            self._publish(self._update(projection, taken))

    def forget(self, which: Which) -> list[KeptIntent]:
        """Forget what some tools were used for; what was forgotten.

        Raises:
            StoreFailed: all is remembered still.
        """
        now = datetime.now(UTC)
        with self._page() as projection:
            forgotten = forget(projection.connection, self.store.project_id, which)
            learned.forget_words(projection.connection, self.store.project_id, which)
            of_tools = Counter((x.tool, x.toolbelt) for x in forgotten)
            self._note_forgotten(projection, "texts", of_tools, now)
        self.store.clear_traces()
        return forgotten

    def forget_runs(self, which: Which) -> Learnings:
        """Forget what runs with some tools taught; what was forgotten.

        Raises:
            StoreFailed: all is kept still.
        """
        now = datetime.now(UTC)
        with self._page() as projection:
            forgotten = learned.forget(projection.connection, self.store.project_id, which)
            shapes = ((x.tool, x.toolbelt) for x in forgotten.shapes)
            of_tools = Counter(dict.fromkeys(shapes, 0))
            of_tools.update((y, x.toolbelt) for x in forgotten.runs for y in x.tools)
            self._note_forgotten(projection, "runs", of_tools, now)
        self.store.clear_traces()
        return forgotten

    def _note_forgotten(
        self,
        projection: Projection,
        what: Forgotten,
        of_tools: Mapping[tuple[Subject, str], int],
        now: datetime,
    ) -> None:
        for (tool, toolbelt), count in of_tools.items():
            projection.read(tool)
            event = self._changes.of_forgetting(tool, toolbelt, what, count, now)
            projection.add([event])

    def beat(self) -> None:
        """Say that this run is still there.

        Raises:
            StoreFailed: it could not be said.
        """
        self.record(())

    def prune_if_due(self) -> None:
        """Remove what is not to be kept any more, if nobody looked for a day.

        Raises:
            StoreFailed: nothing was removed.
        """
        now = time.monotonic()
        if self._retention is None or (
            self._looked is not None and now - self._looked < _LOOK_SECONDS
        ):
            return
        with self.store.reading() as connection:
            due = is_due(connection, self.store.project_id, datetime.now(UTC))
        is_all = not due or prune(self.store, self._retention, datetime.now(UTC)).is_all
        self._looked = now if is_all else None

    def close(self) -> None:
        """Say that this run is over, and let go of the store.

        Raises:
            StoreFailed: it could not be said.
        """
        try:
            self.prune_if_due()
            self.store.back_up_if_due()
            with self._page() as projection:
                for source in tuple(self._connected):  # usually none is left
                    self._take_in(projection, Lost(source, datetime.now(UTC), ENDED))
                for source in tuple(self._repeated.held):
                    self._write_repeated(projection, source, datetime.now(UTC))
                self._runs.end(projection.connection)
        finally:
            self.store.close()

    def _update(self, projection: Projection, taken: Iterable[Report]) -> RecordUpdate:
        tools, whole = projection.newest_tools()
        sources = (x.source for x in taken if isinstance(x, Listed))
        listed = {x: self._seen[x] for x in sources if x in self._seen}
        return RecordUpdate(by_source(tools), whole, listed)

    @contextmanager
    def _page(self) -> Generator[Projection]:
        connected, held = dict(self._connected), dict(self._damping.held)
        repeated = dict(self._repeated.held)
        try:
            with self.store.writing() as connection:
                if self._used is not self.store:
                    rebuild_stale(connection)
                    self._snapshots = Snapshots(self.store.project_id)
                projection = Projection(connection, self.store.project_id)
                if not self._runs.beat(connection):
                    self._begin(projection)
                elif self._used is not self.store:
                    self._end_what_is_over(projection)
                yield projection
                last = projection.save()
                self._snapshots.take_if_due(connection, last, projection.rows)
            self._used = self.store
        except BaseException:
            self._connected, self._damping.held = connected, held
            self._repeated.held = repeated
            for left in self._left:
                left.let_go()
            raise
        finally:
            left_over, self._left = self._left, []
        for left in left_over:
            left.remove()

    def _begin(self, projection: Projection) -> None:
        """Begin a run, and note what those had that ended without a word.

        What this process has connected it had in a run that others took for ended, because the
        machine slept, say.
        """
        if self._runs.is_known(projection.connection):  # others took it for ended
            self._runs = Runs(self.store.project_id)
            self._changes = EventBuilder(self.store.project, self._runs.own)
        self._runs.begin(projection.connection)
        began, self._began = self._began or datetime.now(UTC), None
        for run, end in self._runs.ended_silently(projection.connection).items():
            for source in projection.sources_of(run):
                lost = Lost(source, began, end, run)
                projection.add(self._changes.of_loss(lost, projection.known(source)))
            self._runs.end(projection.connection, run)
        self._end_what_is_over(projection)
        self._take_in_left_behind(projection)
        for report in tuple(self._connected.values()):
            self._listed(projection, replace(report, time=began))

    def _end_what_is_over(self, projection: Projection) -> None:
        """Note what runs had that are over, where a damaged file does not tell any more."""
        known = {x for source in projection.sources() for x in source.runs}
        for run in self._runs.over(projection.connection, known - {self._runs.own}):
            for source in projection.sources_of(run):
                lost = Lost(source, datetime.now(UTC), _END_LOST, run)
                projection.add(self._changes.of_loss(lost, projection.known(source)))

    def _take_in_left_behind(self, projection: Projection) -> None:
        """Add the calls of processes that were killed before the store had them."""
        self._left = left_behind(self.store.place)
        calls = [(call, left.run) for left in self._left for call in left.calls]
        times = [call.time for call, _ in calls]
        known = log.calls_at(projection.connection, self.store.project_id, times)
        for call, run in sorted(calls, key=lambda x: x[0].time):
            is_over = isinstance(call, Called)
            if (call.tool.digest, call.time) in known:
                continue
            event = self._changes.of_call(call) if is_over else self._changes.of_begun(call)
            projection.read(call.tool)
            projection.add([replace(event, run=run)])

    def _take_in(self, projection: Projection, report: Report) -> None:
        if isinstance(report, Listed | Lost):
            self._write_repeated(projection, report.source, report.time)
        match report:
            case Listed():
                self._listed(projection, report)
            case Lost():
                if (held := self._damping.held.pop(report.source, None)) is not None:
                    self._write_listed(projection, held)
                self._seen.pop(report.source, None)
                self._connected.pop(report.source, None)
                known = projection.known(report.source)
                projection.add(self._changes.of_loss(report, known))
            case Failed():
                self._failed(projection, report)
            case Seeded():
                self._seeded(projection, report)
            case Called():
                projection.read(report.tool)
                projection.add([self._changes.of_call(report)])
            case Learned() | LearnedRun():
                pass  # all of them together, see `record`
            case Decided():
                projection.read(report.tool)
                projection.add([self._changes.of_decision(report)])
            case Answered():
                projection.read(report.tool)
                projection.add([self._changes.of_answer(report)])
            case Refused():
                projection.read(report.tool)
                projection.add([self._changes.of_refusal(report)])

    def _failed(self, projection: Projection, report: Failed) -> None:
        """Written down, or counted if it is what went wrong before."""
        source = projection.source(report.source)
        if source is not None and source.last_error == report.problem:
            self._repeated.hold(report)
            return
        self._write_repeated(projection, report.source, report.time)
        projection.add([self._changes.of_failure(report)])

    def _write_repeated(self, projection: Projection, source: Subject, now: datetime) -> None:
        """As of now: who looks back at the time before must see what was known then."""
        if (held := self._repeated.take(source)) is not None:
            projection.read(source)
            report = replace(held, time=max(held.time, now))
            projection.add([self._changes.of_failure(report)])

    def _listed(self, projection: Projection, report: Listed) -> None:
        self._connected[report.source] = report
        report = self._damping.merged(report)
        seen = digest_listing(report.tools, self._seen.get(report.source))
        self._seen[report.source] = replace(seen, texts={})
        source = projection.source(report.source)
        if source is None or self._runs.own not in source.runs:
            report = replace(report, connected=True)
        is_news = report.connected or report.is_forced
        if source and not is_news and source.inventory == seen.inventory:
            projection.add([self._changes.of_source(report, seen, source)])
            return
        if is_news or not self._damping.hold(projection.connection, report):
            self._write_listed(projection, report, seen)

    def _release(self, projection: Projection) -> None:
        """Write down what was held back, where so much time has passed."""
        for source in self._repeated.due():
            self._write_repeated(projection, source, datetime.now(UTC))
        for held in tuple(self._damping.held.values()):
            now = replace(held, time=max(held.time, datetime.now(UTC)))
            if not self._damping.is_too_often(projection.connection, now):
                self._write_listed(projection, self._damping.held.pop(held.source))

    def _write_listed(
        self, projection: Projection, report: Listed, seen: ListingDigest | None = None
    ) -> None:
        seen = seen or digest_listing(report.tools, self._seen.get(report.source))
        known = projection.known(report.source)
        renames = self._renames(projection, known.vanished(seen.tools), known.came(seen.tools))
        events = self._changes.of_listing(report, seen, known, renames)
        projection.add(events, self._bodies(projection, seen, known))

    def _renames(
        self, projection: Projection, vanished: list[ToolRecord], came: list[Tool]
    ) -> dict[str, str]:
        """The likely ones. Only where there are both are definitions read from the store."""
        if not vanished or not came:
            return {}
        before = projection.definitions(record.definition for record in vanished)
        gone = [
            {**before[x.definition], "name": x.name} for x in vanished if x.definition in before
        ]
        # What is secret is hidden in both; the names are those that the events are about.
        new = [{**json.loads(self._body(tool)), "name": tool.name} for tool in came]
        return likely_renames(gone, new)

    def _bodies(self, projection: Projection, seen: ListingDigest, known: Known) -> dict[str, str]:
        """The definitions that the store may not have: the new ones, and those that were lost."""
        told = (d for x, d in seen.digests.items() if _has(known, x, d))
        kept = kept_definitions(projection.connection, told)
        new = {d: x for x, d in seen.digests.items() if d not in kept}
        texts = {d: seen.texts.get(d) or definition_text(seen.tools[x]) for d, x in new.items()}
        return {digest: redact_json(text, self._mask) for digest, text in texts.items()}

    def _seeded(self, projection: Projection, report: Seeded) -> None:
        digests = {tool.name: digest_of(definition_text(tool)) for tool in report.tools}
        new = [x for x in report.tools if self._is_new(projection, report, x, digests[x.name])]
        bodies = {digests[tool.name]: self._body(tool) for tool in new}
        report = replace(report, tools=tuple(new))
        projection.add(self._changes.of_seeds(report, digests), bodies)

    def _is_new(self, projection: Projection, report: Seeded, tool: Tool, digest: str) -> bool:
        """Whether it is not what it was when this process, in whatever run, said so last."""
        known = projection.tool(Subject(report.kind, tool.source, tool.name))
        if known is None or not known.is_available or known.definition != digest:
            return True
        # One from the future was told before a clock was set back.
        return not self._runs.process_began <= known.last_seen <= datetime.now(UTC)

    def _learned(self, projection: Projection, reports: list[Learned]) -> None:
        """Reports may have waited for long: what was forgotten meanwhile does not come back."""
        if not reports:
            return
        project, connection = self.store.project_id, projection.connection
        forgotten = forgotten_since(connection, project, "texts", min(x.time for x in reports))
        now = datetime.now(UTC)
        for report in reports:
            last = forgotten.get((report.tool.digest, report.toolbelt))
            if not _is_forgotten(last, report.time, now):
                self._keep(projection, report)
        keep_bounds(connection, project, {x.toolbelt for x in reports})

    def _learned_runs(self, projection: Projection, reports: list[LearnedRun]) -> None:
        """As `_learned`; of requests nothing is kept where what they taught was forgotten."""
        if not reports:
            return
        project, connection = self.store.project_id, projection.connection
        first, now = min(x.time for x in reports), datetime.now(UTC)
        runs = forgotten_since(connection, project, "runs", first)
        texts = forgotten_since(connection, project, "texts", first)
        for report in reports:
            if not _has_forgotten(runs, report, now):
                is_said = not _has_forgotten(texts, report, now)
                self._keep_run(connection, report, report.request if is_said else "")
        learned.keep_bounds(connection, project, {x.toolbelt for x in reports})

    def _keep_run(self, connection: Connection, report: LearnedRun, request: str) -> None:
        """Nothing is kept of what has a secret in a name."""
        project, words = self.store.project_id, kept_speech(request, self._redact)
        if self._is_plain(calls_as_json(report.calls)):
            learned.keep_run(connection, project, report.toolbelt, words, report.calls, report.time)
        for tool, text in report.shapes:
            if self._is_plain(text):
                learned.keep_shape(connection, project, report.toolbelt, tool, text, report.time)

    def _is_plain(self, text: str) -> bool:
        return self._mask(text) == text

    def _keep(self, projection: Projection, report: Learned) -> None:
        """Nothing is written where no words are left."""
        project, connection = self.store.project_id, projection.connection
        for text in report.texts:
            if words := kept_speech(text, self._redact):
                intent = keep(connection, project, report.tool, report.toolbelt, words, report.time)
                projection.read(report.tool)
                projection.add([self._changes.of_learning(report, intent)])

    def _body(self, tool: Tool) -> str:
        return redact_json(definition_text(tool), self._mask)


def _has_forgotten(
    last: Mapping[tuple[str, str], datetime], report: LearnedRun, now: datetime
) -> bool:
    """Whether a run was told before something of one of its tools was forgotten."""
    times = (last.get((x.tool.digest, report.toolbelt)) for x in report.calls)
    return any(_is_forgotten(x, report.time, now) for x in times)


def _is_forgotten(last: datetime | None, time: datetime, now: datetime) -> bool:
    """Whether it was told before it was forgotten.

    One from the future was forgotten before a clock was set back, and so before it.
    """
    return last is not None and time <= last <= now


def _has(known: Known, name: str, digest: str) -> bool:
    record = known.tools.get(name)
    return record is not None and record.definition == digest
