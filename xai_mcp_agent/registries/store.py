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
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ..settings.registries import RegistrySettings
from ..sources.fetching import FetchLimits, HttpStatusError
from .readers import ReadPage, RegistryPage, page_reader
from .server_json import RegistryDocument, RegistryError, version_order

_BUSY_SECONDS = 10.0
_OVERLAP = timedelta(minutes=10)  # clock differences between machines
_CLIENT_ERRORS = range(400, 500)
# A row keeps the first document of a version; changed content is in `new_*`. `run` is the last sync
# that saw the version; `refused` says why the latest content must not be used.
_TABLES = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS progress (
    registry TEXT PRIMARY KEY, cursor TEXT NOT NULL, since TEXT NOT NULL, begun TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS documents (
    registry TEXT, name TEXT, version TEXT, run TEXT NOT NULL, document TEXT, digest TEXT,
    meta TEXT NOT NULL DEFAULT '{}', refused TEXT NOT NULL DEFAULT '',
    new_document TEXT, new_digest TEXT, new_seen TEXT,
    PRIMARY KEY (registry, name, version));
COMMIT;
"""
_ROW = "registry = ? AND name = ? AND version = ?"
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str).encode


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a sync: it continues at `cursor`; the last complete one began at `since`."""

    cursor: str = ""
    since: str = ""
    begun: str = ""


@dataclass(frozen=True, slots=True)
class Alarm:
    """A version whose content differs from its first document, `since` a time."""

    registry: str
    name: str
    version: str
    was: str
    now: str
    since: str


class RegistryStore:
    """The local copy, with registries by address. Not for use by several threads.

    Raises:
        RegistryError: the file cannot be used.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(file, timeout=_BUSY_SECONDS, isolation_level=None)
            self._db.executescript(_TABLES)
        except (OSError, sqlite3.Error) as cause:
            raise self._unusable(cause) from cause

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def writing(self) -> Generator[None]:
        """Write everything within the block, or nothing.

        Raises:
            RegistryError: the file cannot be written.
        """
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        except BaseException as cause:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if not isinstance(cause, sqlite3.Error):
                raise
            raise RegistryError(
                f"{self.file}, the local copy of the registries, cannot be written: {cause}. End "
                "other syncs and free some disk space, then try again."
            ) from cause

    def _unusable(self, cause: Exception) -> RegistryError:
        return RegistryError(
            f"{self.file}, the local copy of the registries, cannot be used: {cause}. Delete it, "
            "or make its folder writable; it is fetched again."
        )

    def _rows(self, query: str, *values: str) -> list[Any]:
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.Error as cause:
            raise self._unusable(cause) from cause

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

    def begin(self, registry: str, since: str) -> Progress:
        """Record the beginning of a sync of changes since a time, and return its progress."""
        with self.writing():
            # The time identifies the sync.
            begun = datetime.now(UTC).isoformat()
            return self.set_progress(registry, Progress(since=since, begun=begun))

    # Documents

    def put(self, registry: str, document: RegistryDocument, run: str = "") -> Alarm | None:
        """Store a document; return an alarm if its version had other content before.

        The first content is never replaced; changed content is stored beside it.
        """
        key = (registry, document.name, document.version)
        self._db.execute(
            "INSERT INTO documents (registry, name, version, run, refused) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET run = excluded.run, refused = excluded.refused",
            (*key, run, document.refused),
        )
        if document.refused:
            return None
        body = {"server": document.server, "place": document.place,
                "has_namespace": document.has_namespace}  # fmt: skip
        content = (_encode(body), document.digest)
        ((before,),) = self._rows(f"SELECT digest FROM documents WHERE {_ROW}", *key)
        alarm = None
        if before and before != document.digest and document.version:
            alarm = Alarm(*key, before, document.digest, _time_text(datetime.now(UTC)))
        changes = (
            "new_document = ?, new_digest = ?" if alarm
            else "document = ?, digest = ?, new_document = NULL, new_digest = NULL"
        )  # fmt: skip
        # A version's status may change; its content may not.
        self._db.execute(
            f"UPDATE documents SET {changes}, new_seen = ?, meta = ? WHERE {_ROW}",
            (*content, alarm and alarm.since, _encode(document.meta), *key),
        )
        return alarm

    def accept(self, alarm: Alarm) -> None:
        """Replace the content of a version with its new content."""
        self._db.execute(
            "UPDATE documents SET document = new_document, digest = new_digest, "
            f"new_document = NULL, new_digest = NULL WHERE {_ROW}",
            (alarm.registry, alarm.name, alarm.version),
        )

    def mark_deleted(self, registry: str, name: str) -> None:
        """Mark a server that its registry no longer has; its content stays."""
        with self.writing():
            query = "UPDATE documents SET meta = ? WHERE registry = ? AND name = ?"
            self._db.execute(query, (_encode({"status": "deleted"}), registry, name))

    def remove_unseen(self, registry: str, run: str) -> int:
        """Remove the documents that a sync did not see; return how many of them were usable."""
        unseen = "FROM documents WHERE registry = ? AND run != ?"
        ((count,),) = self._rows(f"SELECT count(digest) {unseen}", registry, run)
        self._db.execute(f"DELETE {unseen}", (registry, run))
        return int(count)

    def versions(self, registry: str, name: str) -> list[RegistryDocument]:
        """Return all usable versions of a server, the latest first."""
        return sorted(self._documents(registry, name), key=_version_order, reverse=True)

    def latest(self, registry: str) -> list[RegistryDocument]:
        """Return the latest usable version of each server of a registry."""
        ordered = sorted(self._documents(registry), key=_version_order)
        return list({x.name: x for x in ordered}.values())

    def names(self, registry: str) -> list[str]:
        """Return the names of all usable servers of a registry."""
        query = (
            "SELECT DISTINCT name FROM documents WHERE registry = ? AND digest IS NOT NULL "
            "AND refused = '' ORDER BY name"
        )
        return [name for (name,) in self._rows(query, registry)]

    def refusal(self, registry: str, name: str, version: str | None) -> str:
        """Return why a version of a server is refused, or nothing.

        Without a version, the latest one counts: an older one does not replace it.
        """
        query = "SELECT version, refused FROM documents WHERE registry = ? AND name = ?"
        reasons = dict[str, str](self._rows(query, registry, name))
        if version is None:
            version = max(reasons, key=version_order, default="")
        return reasons.get(version, "")

    def alarms(self, registry: str, name: str) -> list[Alarm]:
        """Return the versions of a server whose content changed."""
        query = (
            "SELECT registry, name, version, digest, new_digest, new_seen FROM documents "
            "WHERE registry = ? AND name = ? AND new_digest IS NOT NULL ORDER BY version"
        )
        return [Alarm(*row) for row in self._rows(query, registry, name)]

    def _documents(self, registry: str, name: str = "") -> list[RegistryDocument]:
        query = (
            "SELECT name, version, digest, meta, document FROM documents WHERE registry = ?1 "
            "AND (?2 = '' OR name = ?2) AND digest IS NOT NULL AND refused = '' ORDER BY name"
        )
        return [self._document(*row) for row in self._rows(query, registry, name)]

    def _document(
        self, name: str, version: str, digest: str, meta: str, body: str
    ) -> RegistryDocument:
        try:
            fields: dict[str, Any] = {**json.loads(body), "meta": {**json.loads(meta)}}
            return RegistryDocument(name, version, digest=digest, **fields)
        except (ValueError, TypeError) as cause:
            raise self._unusable(cause) from cause


def _version_order(document: RegistryDocument) -> tuple[Any, ...]:
    """Return a sort key: the registry's latest version comes last, the others by number."""
    return document.meta.get("isLatest") is True, version_order(document.version)


def _time_text(moment: datetime) -> str:
    """Return a moment in the format of registries."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


# Sync

_PAGE_LIMITS = FetchLimits()


@dataclass(frozen=True, slots=True)
class SyncLimits:
    """The time limit for one sync of a registry, and the limits of each page."""

    seconds: float = 900.0
    fetch: FetchLimits = _PAGE_LIMITS


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
    store: RegistryStore, registry: RegistrySettings, limits: SyncLimits | None = None
) -> SyncReport:
    """Fetch the changes in a registry. Each page is stored before the next one is requested.

    An interrupted sync continues where it was. Problems of the registry are in the report.

    Raises:
        RegistryError: the local copy cannot be written.
    """
    report = SyncReport(registry.name)
    try:
        read_page = page_reader(registry)
    except RegistryError as reason:
        report.problem = str(reason)
        return report
    if problem := _read_pages(store, registry, read_page, limits or SyncLimits(), report):
        report.problem = f"{registry.address} {problem}"
    return report


def _read_pages(
    store: RegistryStore,
    registry: RegistrySettings,
    read_page: ReadPage,
    limits: SyncLimits,
    report: SyncReport,
) -> str:
    """Read and store pages until the last one; return why it ended early, if it did."""
    deadline, cursors = time.monotonic() + limits.seconds, set[str]()
    address = registry.address
    progress = store.progress(address)
    report.is_resumed = bool(progress.cursor)
    if not report.is_resumed:
        progress = store.begin(address, progress.since)
    while (remaining := deadline - time.monotonic()) > 0:
        fetch = replace(limits.fetch, seconds=min(limits.fetch.seconds, max(remaining, 0.1)))
        try:
            page = read_page(progress.cursor, progress.since, fetch)
        except OSError as reason:
            is_refused = isinstance(reason, HttpStatusError) and reason.status in _CLIENT_ERRORS
            if is_refused and report.is_resumed and report.pages == 0:  # the cursor is too old
                report.is_resumed, progress = False, store.begin(address, progress.since)
                continue
            at = f", at page {report.pages + 1}" if report.pages else ""
            later = " `registry sync` continues from there." if progress.cursor else ""
            return f"cannot be read{at}: {str(reason).rstrip('.')}.{later}"
        with store.writing():
            if store.progress(address) != progress:
                return "is read by another sync at the same time, which continues."
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
    return (
        f"is not read to its end after {limits.seconds:g} s. `registry sync` continues from there."
    )


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
