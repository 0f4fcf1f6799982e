"""Brings the local copy of a registry up to date, page by page; interrupted, it goes on later."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from ..settings.sections import RegistrySettings
from ..sources.fetching import Answered, FetchLimits
from .readers import Page, Reader, reader_of
from .store import Alarm, Progress, Store
from .values import RegistryError

_OVERLAP = timedelta(minutes=10)  # clocks of other machines
_PAGE_LIMITS = FetchLimits()
_CLIENT_ERRORS = range(400, 500)


@dataclass(frozen=True, slots=True)
class SyncLimits:
    """What one sync of a registry may take; what is left over is for the next one."""

    pages: int = 2_000
    bytes: int = 500 * 1024**2
    seconds: float = 900.0
    fetch: FetchLimits = _PAGE_LIMITS


@dataclass
class SyncReport:
    """What came of it. `problem` says why it is not whole; `is_resumed`, that it went on."""

    registry: str
    pages: int = 0
    documents: int = 0
    removed: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    alarms: list[Alarm] = field(default_factory=list[Alarm])
    is_resumed: bool = False
    problem: str = ""


def now_text(moment: datetime | None = None) -> str:
    """A moment, usually now, as registries write it."""
    return (moment or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")


def sync_registry(
    store: Store, registry: RegistrySettings, limits: SyncLimits | None = None
) -> SyncReport:
    """Fetch what is new in a registry. Each page is stored before the next one is asked for.

    Never raises for what a registry does; the report says it.

    Raises:
        RegistryError: the local copy cannot be written.
    """
    try:
        reader = reader_of(registry)
    except RegistryError as reason:
        return SyncReport(registry.name, problem=str(reason))
    sync = _Sync(store, registry, reader, limits or SyncLimits())
    sync.run()
    return sync.report


class _Sync:
    def __init__(
        self, store: Store, registry: RegistrySettings, reader: Reader, limits: SyncLimits
    ) -> None:
        self.report = SyncReport(registry.name)
        self._store, self._reader, self._limits = store, reader, limits
        self._key = registry.address
        self._ends = time.monotonic() + limits.seconds
        self._bytes = 0
        self._cursors: set[str] = set()
        self._present: set[tuple[str, str]] = set()

    def run(self) -> None:
        progress: Progress | None = self._store.progress(self._key)
        assert progress is not None
        self.report.is_resumed = bool(progress.cursor)
        if not progress.cursor:
            begun = now_text(datetime.now(UTC) - _OVERLAP)
            progress = self._set(Progress(since=progress.since, begun=begun))
        while progress is not None and not self._is_over():
            progress = self._step(progress)

    def _set(self, progress: Progress) -> Progress:
        with self._store.writing():
            self._store.set_progress(self._key, progress)
        return progress

    def _is_over(self) -> bool:
        """Whether it has taken what it may; says so."""
        limits, reached = self._limits, ""
        if self.report.pages >= limits.pages:
            reached = f"{limits.pages:,} pages"
        elif self._bytes >= limits.bytes:
            reached = f"{limits.bytes // 1024**2:,} MiB"
        elif time.monotonic() >= self._ends:
            reached = f"{limits.seconds:g} s"
        if reached:
            self._stop(f"it stopped after {reached}. `registry sync` goes on from there.")
        return bool(reached)

    def _stop(self, problem: str) -> None:
        self.report.problem = f"{self._key}: {problem}"

    def _step(self, progress: Progress) -> Progress | None:
        """Read one page and store it; return where to go on, or None at the end."""
        seconds = min(self._limits.fetch.seconds, max(self._ends - time.monotonic(), 0.1))
        limits = replace(self._limits.fetch, seconds=seconds)
        try:
            page = self._reader.page(progress.cursor, progress.since, limits)
        except OSError as reason:
            is_refused = isinstance(reason, Answered) and reason.status in _CLIENT_ERRORS
            if progress.cursor and self.report.pages == 0 and is_refused:
                self.report.is_resumed = False  # the cursor is too old for it
                return self._set(replace(progress, cursor="", pages=0))
            at = f", at page {progress.pages + 1}" if progress.pages else ""
            later = " `registry sync` goes on from there." if progress.cursor else ""
            self.report.problem = (
                f"{self._key} cannot be read{at}: {str(reason).rstrip('.')}.{later}"
            )
            return None
        self._bytes += page.size
        with self._store.writing():
            return self._store_page(page, progress)

    def _store_page(self, page: Page, progress: Progress) -> Progress | None:
        if self._store.progress(self._key) != progress:
            self._stop(
                "it is read by another sync at the same time, and that one goes on. What came "
                "until then is kept."
            )
            return None
        self._put(page)
        self.report.pages += 1
        if not page.next:
            if not (self.report.is_resumed or self._reader.tells_changes):
                self.report.removed = self._store.forget_others(self._key, self._present)
            self._store.set_progress(self._key, Progress(since=progress.begun))
            return None
        if page.next in self._cursors:
            self._store.set_progress(self._key, Progress(since=progress.since))
            self._stop(
                "it gives the same cursor again, so it would never end. What came until then is "
                "kept."
            )
            return None
        self._cursors.add(page.next)
        following = replace(progress, cursor=page.next, pages=progress.pages + 1)
        self._store.set_progress(self._key, following)
        return following

    def _put(self, page: Page) -> None:
        now = now_text()
        for document in page.documents:
            self.report.documents += 1
            self._present.add((document.name, document.version))
            if document.refused:
                self.report.refused.append((document.name, document.refused))
            if alarm := self._store.put(self._key, document, now):
                self.report.alarms.append(alarm)
