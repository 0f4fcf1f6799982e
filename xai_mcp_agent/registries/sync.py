"""Brings the local copy of a registry up to date, page by page; interrupted, it goes on later."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from ..settings.sections import RegistrySettings
from ..sources.fetching import Answered, FetchLimits
from .readers.base import Page, Reader
from .readers.readers import reader_of
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
    """Fetch what is new in a registry. What a page said is kept once it is read.

    Never raises for what a registry does; the report says it.

    Raises:
        RegistryError: the local copy cannot be written.
    """
    return _Sync(store, registry, limits or SyncLimits()).run()


class _Sync:
    def __init__(self, store: Store, registry: RegistrySettings, limits: SyncLimits) -> None:
        self._store, self._registry, self._limits = store, registry, limits
        self._key = registry.address
        self._ends = time.monotonic() + limits.seconds
        self._bytes = 0
        self._report = SyncReport(registry.name)
        self._seen: list[tuple[str, str]] = []

    def run(self) -> SyncReport:
        try:
            reader = reader_of(self._registry)
        except RegistryError as reason:
            self._report.problem = str(reason)
            return self._report
        progress = self._begin()
        going: Progress | None = progress
        while going is not None and not self._is_over(going):
            going = self._step(reader, going)
        return self._report

    def _begin(self) -> Progress:
        found = self._store.progress(self._key)
        if found.cursor:
            self._report.is_resumed = True
            return found
        begun = now_text(datetime.now(UTC) - _OVERLAP)
        return self._start_anew(Progress(since=found.since, begun=begun))

    def _start_anew(self, progress: Progress) -> Progress:
        fresh = replace(progress, cursor="", pages=0)
        with self._store.written():
            self._store.set_progress(self._key, fresh)
        return fresh

    def _is_over(self, progress: Progress) -> bool:
        """Whether it has taken what it may; says so."""
        limits, reached = self._limits, ""
        if self._report.pages >= limits.pages:
            reached = f"{limits.pages:,} pages"
        elif self._bytes >= limits.bytes:
            reached = f"{limits.bytes // 1024**2:,} MiB"
        elif time.monotonic() >= self._ends:
            reached = f"{limits.seconds:g} s"
        if reached:
            self._report.problem = (
                f"{self._key}: it stopped after {reached}. `registry sync` goes on from there."
            )
        return bool(reached)

    def _step(self, reader: Reader, progress: Progress) -> Progress | None:
        """Read one page and keep it; where to go on, or None at the end."""
        left = max(self._ends - time.monotonic(), 0.1)
        limits = replace(self._limits.fetch, seconds=min(self._limits.fetch.seconds, left))
        try:
            page = reader.page(progress.cursor, progress.since, limits)
        except Answered as reason:
            if progress.cursor and self._report.pages == 0 and reason.status in _CLIENT_ERRORS:
                self._report.is_resumed = False
                return self._start_anew(progress)  # the cursor is too old for it
            return self._stop(progress, str(reason))
        except OSError as reason:
            return self._stop(progress, str(reason))
        self._bytes += page.size
        with self._store.written():
            return self._keep(page, progress)

    def _stop(self, progress: Progress, reason: str) -> None:
        at = f", at page {progress.pages + 1}" if progress.pages else ""
        later = " `registry sync` goes on from there." if progress.cursor else ""
        self._report.problem = f"{self._key} cannot be read{at}: {reason.rstrip('.')}.{later}"

    def _keep(self, page: Page, progress: Progress) -> Progress | None:
        if self._store.progress(self._key) != progress:
            self._report.problem = (
                f"{self._key} is read by another sync at the same time, and that one goes on. What "
                "came until then is kept."
            )
            return None
        self._put(page)
        self._report.pages += 1
        if not page.next:
            if page.is_whole:
                self._report.removed = self._store.forget_others(self._key, self._seen)
            self._store.set_progress(self._key, Progress(since=progress.begun))
            return None
        if not self._store.is_new_cursor(self._key, page.next):
            self._store.set_progress(self._key, Progress(since=progress.since))
            self._report.problem = (
                f"{self._key} gives the same cursor again, so it would never end. What came until "
                "then is kept."
            )
            return None
        following = replace(progress, cursor=page.next, pages=progress.pages + 1)
        self._store.set_progress(self._key, following)
        return following

    def _put(self, page: Page) -> None:
        now = now_text()
        for document in page.documents:
            self._report.documents += 1
            self._seen.append((document.name, document.version))
            if document.refused:
                self._report.refused.append((document.name, document.refused))
            if alarm := self._store.put(self._key, document, now):
                self._report.alarms.append(alarm)
