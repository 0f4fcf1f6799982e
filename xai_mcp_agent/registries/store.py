"""The local copy of registries, one SQLite file in the user's cache folder, and its sync.

The copy can be fetched again at any time, except for its record of versions whose content has
changed.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ..settings.registries import RegistrySettings
from ..sources.fetching import FetchLimits, HttpStatusError
from .readers import RegistryPage, page_reader
from .server_json import RegistryDocument, RegistryError, version_order

_BUSY_SECONDS = 10.0
_OVERLAP = timedelta(minutes=10)  # clock differences between machines
_CLIENT_ERRORS = range(400, 500)
# `run` is the last sync that saw the version.
_TABLES = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS progress (
    registry TEXT PRIMARY KEY, cursor TEXT NOT NULL, since TEXT NOT NULL, begun TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS documents (
    registry TEXT, name TEXT, version TEXT, run TEXT NOT NULL, document TEXT NOT NULL,
    PRIMARY KEY (registry, name, version));
COMMIT;
"""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a sync: it continues at `cursor`; the last complete one began at `since`."""

    cursor: str = ""
    since: str = ""
    begun: str = ""


@dataclass(frozen=True, slots=True)
class Alarm:
    """A version whose content has changed `since` a time: the digests of `was` and `now`."""

    name: str
    version: str
    was: str
    now: str
    since: str


def alarm_of(document: RegistryDocument) -> Alarm | None:
    """Return the alarm about a version, if its content has changed."""
    changed = document.changed
    if changed is None:
        return None
    digests = document.digest, changed.digest
    return Alarm(document.name, document.version, *digests, document.since)


class RegistryStore:
    """The local copy, with registries by address. Not for use by several threads.

    Raises:
        RegistryError: the file cannot be used.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        with self._errors_reported():
            file.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(file, timeout=_BUSY_SECONDS, isolation_level=None)
            try:
                self._db.executescript(_TABLES)
            except BaseException:  # the file is no database
                self._db.close()
                raise

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def writing(self) -> Generator[None]:
        """Write everything within the block, or nothing.

        Raises:
            RegistryError: the file cannot be written.
        """
        with self._errors_reported(), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            yield

    @contextmanager
    def _errors_reported(self) -> Generator[None]:
        try:
            yield
        except (OSError, sqlite3.Error, ValueError, TypeError) as cause:
            raise RegistryError(
                f"{self.file}, the local copy of the registries, cannot be used: {cause}. End "
                "other syncs and free some disk space. If it is damaged, delete it: it is fetched "
                "again."
            ) from cause

    def _rows(self, query: str, *values: str) -> list[Any]:
        with self._errors_reported():
            return self._db.execute(query, values).fetchall()

    # Progress of a sync

    def progress(self, registry: str) -> Progress:
        """Return the progress of a registry's sync, empty before the first."""
        query = "SELECT cursor, since, begun FROM progress WHERE registry = ?"
        return next((Progress(*row) for row in self._rows(query, registry)), Progress())

    def set_progress(self, registry: str, progress: Progress) -> Progress:
        """Store the progress of a registry's sync, and return it."""
        values = (registry, progress.cursor, progress.since, progress.begun)
        self._db.execute("INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?)", values)
        return progress

    # Documents

    def put(self, registry: str, document: RegistryDocument, run: str = "") -> Alarm | None:
        """Store a document; return an alarm if its version had other content before.

        The first content is never replaced; changed content is stored beside it. A version's
        status may change.
        """
        stored = self._documents(registry=registry, name=document.name, version=document.version)
        before = next((x for x in stored if x.digest), document)
        if document.refused:
            document = replace(before, meta=document.meta, refused=document.refused)
        elif before.digest != document.digest and document.version:
            since = _time_text(datetime.now(UTC))
            document = replace(
                before, meta=document.meta, refused="", changed=document, since=since
            )
        self._write(registry, document, run)
        return None if document.refused else alarm_of(document)

    def accept(self, registry: str, document: RegistryDocument) -> None:
        """Replace the content of a version with its changed content."""
        if document.changed is not None:
            self._write(registry, document.changed)

    def mark_deleted(self, registry: str, name: str) -> None:
        """Mark a server that its registry no longer has; its content stays."""
        with self.writing():
            for document in self._documents(registry=registry, name=name):
                self._write(registry, replace(document, meta={"status": "deleted"}))

    def remove_unseen(self, registry: str, run: str) -> int:
        """Remove the documents that a sync did not see; return how many."""
        query = "DELETE FROM documents WHERE registry = ? AND run != ?"
        return self._db.execute(query, (registry, run)).rowcount

    def versions(self, registry: str, name: str) -> list[RegistryDocument]:
        """Return all versions of a server, also refused ones, the latest first."""
        return sorted(
            self._documents(registry=registry, name=name), key=_version_order, reverse=True
        )

    def latest(self, registry: str) -> list[RegistryDocument]:
        """Return the latest version of each server of a registry, unless it is refused."""
        ordered = sorted(self._documents(registry=registry), key=_version_order)
        return [x for x in {x.name: x for x in ordered}.values() if not x.refused]

    def _documents(self, **key: str) -> list[RegistryDocument]:
        where = " AND ".join(f"{column} = ?" for column in key)
        query = f"SELECT document FROM documents WHERE {where} ORDER BY name"
        with self._errors_reported():
            return [_decode(text) for (text,) in self._rows(query, *key.values())]

    def _write(self, registry: str, document: RegistryDocument, run: str = "") -> None:
        values = (registry, document.name, document.version, run, json.dumps(asdict(document)))
        self._db.execute("INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?)", values)


def _decode(text: str) -> RegistryDocument:
    document = RegistryDocument(**json.loads(text))
    changed: Any = document.changed
    return replace(document, changed=changed and RegistryDocument(**changed))


def _version_order(document: RegistryDocument) -> tuple[Any, ...]:
    """Return a sort key: the registry's latest version comes last, the others by number."""
    return document.meta.get("isLatest") is True, version_order(document.version)


def _time_text(moment: datetime) -> str:
    """Return a moment in the format of registries."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


# Sync

_PAGE_LIMITS = FetchLimits()
SYNC_SECONDS = 900.0  # for one registry


@dataclass
class SyncReport:
    """The result of a sync. `problem` says why it is incomplete, if it is."""

    registry: str
    pages: int = 0
    documents: int = 0
    removed: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    alarms: list[Alarm] = field(default_factory=list[Alarm])
    is_resumed: bool = False
    problem: str = ""


def sync_registry(
    store: RegistryStore, registry: RegistrySettings, seconds: float = SYNC_SECONDS
) -> SyncReport:
    """Fetch the changes in a registry. Each page is stored before the next one is requested.

    An interrupted sync continues where it was. Problems of the registry are in the report.

    Raises:
        RegistryError: the local copy cannot be written.
    """
    report = SyncReport(registry.name)
    try:
        problem = _read_pages(store, registry, seconds, report)
    except OSError as reason:
        at = f", at page {report.pages + 1}" if report.pages else ""
        problem = f"cannot be read{at}: {str(reason).rstrip('.')}."
    if problem:
        can_resume = store.progress(registry.address).cursor
        later = " `registry sync` continues from there." if can_resume else ""
        report.problem = f"{registry.address} {problem}{later}"
    return report


def _read_pages(
    store: RegistryStore, registry: RegistrySettings, seconds: float, report: SyncReport
) -> str:
    """Read and store pages until the last one; return why it ended early, if it did."""
    deadline, cursors = time.monotonic() + seconds, set[str]()
    address, read_page = registry.address, page_reader(registry)
    progress = store.progress(address)
    report.is_resumed = bool(progress.cursor)
    if not report.is_resumed:
        progress = _begin(store, address, progress.since)
    while (remaining := deadline - time.monotonic()) > 0:
        limits = replace(_PAGE_LIMITS, seconds=min(_PAGE_LIMITS.seconds, max(remaining, 0.1)))
        try:
            page = read_page(progress.cursor, progress.since, limits)
        except HttpStatusError as reason:
            if reason.status not in _CLIENT_ERRORS or not report.is_resumed or report.pages:
                raise
            report.is_resumed = False  # the cursor is too old
            progress = _begin(store, address, progress.since)
            continue
        with store.writing():
            if store.progress(address) != progress:
                return "is read by another sync at the same time."
            _store_page(store, address, page, progress.begun, report)
            if page.next in cursors:
                store.set_progress(address, Progress(since=progress.since))
                return "gives the same cursor again and would never end. Its pages are kept."
            if not page.next:
                if registry.type != "api":  # only the API reports changes; the others are whole
                    report.removed = store.remove_unseen(address, progress.begun)
                since = _time_text(datetime.fromisoformat(progress.begun) - _OVERLAP)
                store.set_progress(address, Progress(since=since))
                return ""
            cursors.add(page.next)
            progress = store.set_progress(address, replace(progress, cursor=page.next))
    return f"is not read to its end after {seconds:g} s."


def _begin(store: RegistryStore, registry: str, since: str) -> Progress:
    """Record the beginning of a sync of changes since a time; its own time identifies it."""
    with store.writing():
        begun = datetime.now(UTC).isoformat()
        return store.set_progress(registry, Progress(since=since, begun=begun))


def _store_page(
    store: RegistryStore, registry: str, page: RegistryPage, run: str, report: SyncReport
) -> None:
    report.pages += 1
    report.documents += len(page.documents)
    for document in page.documents:
        if document.refused:
            report.refused.append((document.name, document.refused))
        if alarm := store.put(registry, document, run):
            report.alarms.append(alarm)
