"""The local copy of what registries say: one SQLite file in the user's cache folder.

Lost, it is fetched again; only what was seen to change under the same version is then not known.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.tools import digest_of
from .values import Document, RegistryError
from .versions import order_of

_BUSY_SECONDS = 10.0
_PAUSE_SECONDS = 0.02
# A version keeps the document that was seen first; what is said of it now stands beside that.
_TABLES = """
CREATE TABLE IF NOT EXISTS progress (
    registry TEXT PRIMARY KEY, cursor TEXT NOT NULL, since TEXT NOT NULL, begun TEXT NOT NULL,
    pages INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS documents (
    registry TEXT, name TEXT, version TEXT, document TEXT, meta TEXT, digest TEXT,
    refused TEXT NOT NULL DEFAULT '', new_document TEXT, new_digest TEXT, new_seen TEXT,
    PRIMARY KEY (registry, name, version));
"""
_KEY = "registry = ? AND name = ? AND version = ?"
_NOTHING_NEW = "new_document = NULL, new_digest = NULL, new_seen = NULL"
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str).encode


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a sync came. `cursor` is where to go on; `since` when the last whole one began."""

    cursor: str = ""
    since: str = ""
    begun: str = ""
    pages: int = 0


@dataclass(frozen=True, slots=True)
class Stored:
    """A document with its digest."""

    document: Document
    digest: str


@dataclass(frozen=True, slots=True)
class Alarm:
    """The same version of a server says something else than before; what was first seen counts."""

    registry: str
    name: str
    version: str
    was: str
    now: str
    seen: str


class Store:
    """The local copy; registries are known by their addresses. Not for several threads at once.

    Raises:
        RegistryError: the file cannot be used.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(file, timeout=_BUSY_SECONDS, isolation_level=None)
            self._make_tables()
        except (OSError, sqlite3.Error) as cause:
            raise self._unusable(cause) from cause

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    @contextmanager
    def writing(self) -> Generator[None]:
        """All or nothing of what is written within the block.

        Raises:
            RegistryError: it cannot be written.
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

    def _make_tables(self) -> None:
        """Also where others do at this moment: SQLite does not wait for them by itself here."""
        ends = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._db.executescript(f"PRAGMA journal_mode=WAL; {_TABLES}")
                return
            except sqlite3.OperationalError as cause:
                if cause.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= ends:
                    raise
            time.sleep(_PAUSE_SECONDS)

    def _unusable(self, cause: Exception) -> RegistryError:
        return RegistryError(
            f"{self.file}, the local copy of the registries, cannot be used: {cause}. Delete it, "
            "or make its folder writable; it is fetched again."
        )

    def _rows(self, query: str, values: Sequence[Any]) -> list[Any]:
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.Error as cause:
            raise self._unusable(cause) from cause

    # How far a sync came

    def progress(self, registry: str) -> Progress:
        """Return how far it is; all empty where there was none yet."""
        query = "SELECT cursor, since, begun, pages FROM progress WHERE registry = ?"
        return next((Progress(*row) for row in self._rows(query, [registry])), Progress())

    def set_progress(self, registry: str, progress: Progress) -> None:
        """Note how far it is."""
        values = (registry, progress.cursor, progress.since, progress.begun, progress.pages)
        self._db.execute("INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?, ?)", values)

    # Documents

    def put(self, registry: str, document: Document, now: str) -> Alarm | None:
        """Store what a registry says; return an alarm where that version said something else.

        A version is never replaced by other content: what was seen first stays, beside the new.
        """
        key = (registry, document.name, document.version)
        self._db.execute(
            "INSERT OR IGNORE INTO documents (registry, name, version) VALUES (?, ?, ?)", key
        )
        if document.refused:
            self._update("refused = ?", [document.refused], key)
            return None
        text, meta = _text_of(document), _encode(document.meta)
        # Equal for the same content, in whatever order it is written.
        digest = digest_of(_encode(document.original))
        ((before,),) = self._rows(f"SELECT digest FROM documents WHERE {_KEY}", key)
        # Whether it is still active is for the registry to say; what it is made of is not.
        self._update("meta = ?, refused = ''", [meta], key)
        if before is None or before == digest or not document.version:
            self._update("document = ?, digest = ?", [text, digest], key)
            self._update(_NOTHING_NEW, [], key)
            return None
        self._update("new_document = ?, new_digest = ?, new_seen = ?", [text, digest, now], key)
        return Alarm(*key, before, digest, now)

    def _update(self, assignments: str, values: Sequence[Any], key: Sequence[str]) -> None:
        self._db.execute(f"UPDATE documents SET {assignments} WHERE {_KEY}", [*values, *key])

    def accept(self, alarm: Alarm) -> None:
        """Let what a version says now take the place of what it said."""
        key = (alarm.registry, alarm.name, alarm.version)
        self._update("document = new_document, digest = new_digest", [], key)
        self._update(_NOTHING_NEW, [], key)

    def forget_others(self, registry: str, present: Iterable[tuple[str, str]]) -> int:
        """Forget what a registry does not have any more; return how many documents those were."""
        query = "SELECT name, version, digest FROM documents WHERE registry = ?"
        remaining = set(present)
        gone = [x for x in self._rows(query, [registry]) if (x[0], x[1]) not in remaining]
        keys = [(registry, name, version) for name, version, _ in gone]
        self._db.executemany(f"DELETE FROM documents WHERE {_KEY}", keys)
        return sum(digest is not None for *_, digest in gone)

    def version(self, registry: str, name: str, version: str) -> Stored | None:
        """Return a version of a server, if it is known."""
        return next(
            (x for x in self.versions(registry, name) if x.document.version == version), None
        )

    def versions(self, registry: str, name: str) -> list[Stored]:
        """Return all versions of a server that are known, the latest first."""
        return sorted(self._stored(registry, name), key=_lateness, reverse=True)

    def latest(self, registry: str) -> list[Stored]:
        """Return the latest version of each server of a registry."""
        latest: dict[str, Stored] = {}
        for stored in self._stored(registry):
            name = stored.document.name
            latest[name] = max(latest.get(name, stored), stored, key=_lateness)
        return list(latest.values())

    def names(self, registry: str) -> list[str]:
        """Return the names of all servers of a registry."""
        query = (
            "SELECT DISTINCT name FROM documents WHERE registry = ? AND digest IS NOT NULL "
            "ORDER BY name"
        )
        return [name for (name,) in self._rows(query, [registry])]

    def refusal(self, registry: str, name: str, version: str | None) -> str:
        """Return why a version of a server is refused; empty where it is not.

        Without a version it is the latest: one that is refused is not made up for by an older one.
        """
        query = "SELECT version, refused FROM documents WHERE registry = ? AND name = ?"
        reasons = dict[str, str](self._rows(query, [registry, name]))
        if version is None:
            version = max(reasons, key=order_of, default="")
        return reasons.get(version, "")

    def alarms(self, registry: str, name: str) -> list[Alarm]:
        """Return the versions of a server that say something else than they once did."""
        query = (
            "SELECT registry, name, version, digest, new_digest, new_seen FROM documents "
            "WHERE registry = ? AND name = ? AND new_digest IS NOT NULL ORDER BY version"
        )
        return [Alarm(*row) for row in self._rows(query, [registry, name])]

    def _stored(self, registry: str, name: str | None = None) -> list[Stored]:
        query = (
            "SELECT name, version, document, meta, digest FROM documents WHERE "
            "registry = ?1 AND (?2 IS NULL OR name = ?2) AND digest IS NOT NULL ORDER BY name"
        )
        return [self._read(*row) for row in self._rows(query, [registry, name])]

    def _read(self, name: str, version: str, text: str, meta: str, digest: str) -> Stored:
        try:
            fields: dict[str, Any] = {**json.loads(text), "meta": {**json.loads(meta)}}
            return Stored(Document(name, version, original=None, **fields), digest)
        except (ValueError, TypeError) as cause:
            raise self._unusable(cause) from cause


def _text_of(document: Document) -> str:
    return _encode({
        "server": document.server,
        "extras": document.extras,
        "place": document.place,
        "has_namespace": document.has_namespace,
    })  # fmt: skip


def _lateness(stored: Stored) -> tuple[Any, ...]:
    """What the registry says is the latest counts, then the version."""
    return stored.document.meta.get("isLatest") is True, order_of(stored.document.version)
