"""The local copy of what registries say: one SQLite file in the user's cache folder.

Lost, it is fetched again; only what was seen to change under the same version is then not known.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..core.json import JsonObject
from ..core.tools import digest_of
from .values import Document, RegistryError
from .versions import order_of

_BUSY_SECONDS = 10.0
_PAUSE_SECONDS = 0.02
_TABLES = """
CREATE TABLE IF NOT EXISTS progress (
    registry TEXT PRIMARY KEY, cursor TEXT NOT NULL DEFAULT '', since TEXT NOT NULL DEFAULT '',
    begun TEXT NOT NULL DEFAULT '', pages INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS cursors (
    registry TEXT, cursor TEXT, PRIMARY KEY (registry, cursor)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS documents (
    registry TEXT, name TEXT, version TEXT, document TEXT NOT NULL, meta TEXT NOT NULL,
    digest TEXT NOT NULL, seen TEXT NOT NULL, PRIMARY KEY (registry, name, version));
CREATE TABLE IF NOT EXISTS refused (
    registry TEXT, name TEXT, version TEXT, reason TEXT NOT NULL, seen TEXT NOT NULL,
    PRIMARY KEY (registry, name, version));
CREATE TABLE IF NOT EXISTS alarms (
    registry TEXT, name TEXT, version TEXT, document TEXT NOT NULL, meta TEXT NOT NULL,
    digest TEXT NOT NULL, seen TEXT NOT NULL, PRIMARY KEY (registry, name, version));
CREATE TABLE IF NOT EXISTS integrity (
    identifier TEXT PRIMARY KEY, hash TEXT NOT NULL, seen TEXT NOT NULL);
"""
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str).encode


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a sync came. `cursor` is where to go on; `since` when the last whole one began."""

    cursor: str = ""
    since: str = ""
    begun: str = ""
    pages: int = 0


@dataclass(frozen=True, slots=True)
class Kept:
    """A document as it is kept: with its digest, and when it was first seen like that."""

    document: Document
    digest: str
    seen: str


@dataclass(frozen=True, slots=True)
class Alarm:
    """The same version of a server says something else than before; what was first seen counts."""

    registry: str
    name: str
    version: str
    was: str
    now: str
    seen: str


def digest_of_document(document: Document) -> str:
    """Equal for the same content, in whatever order it is written."""
    return digest_of(_encode(document.original))


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
    def written(self) -> Generator[None]:
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

    def _rows(self, query: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        try:
            for row in self._db.execute(query, values):  # noqa: UP028 - no cursor is closed late
                yield row
        except sqlite3.Error as cause:
            raise self._unusable(cause) from cause

    def _row(self, query: str, values: Sequence[Any]) -> tuple[Any, ...] | None:
        return next(iter([*self._rows(query, values)]), None)

    # How far a sync came

    def progress(self, registry: str) -> Progress:
        """How far it is; all empty where there was none yet."""
        query = "SELECT cursor, since, begun, pages FROM progress WHERE registry = ?"
        row = self._row(query, [registry])
        return Progress(*row) if row else Progress()

    def set_progress(self, registry: str, progress: Progress) -> None:
        """Note how far it is; a new beginning forgets the cursors."""
        values = (registry, progress.cursor, progress.since, progress.begun, progress.pages)
        self._db.execute("INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?, ?)", values)
        if not progress.cursor:
            self._db.execute("DELETE FROM cursors WHERE registry = ?", [registry])

    def is_new_cursor(self, registry: str, cursor: str) -> bool:
        """Note a cursor; whether this sync did not have it yet."""
        insert = "INSERT OR IGNORE INTO cursors VALUES (?, ?)"
        return self._db.execute(insert, [registry, cursor]).rowcount > 0

    # Documents

    def put(self, registry: str, document: Document, now: str) -> Alarm | None:
        """Keep what a registry says; an alarm where that version said something else before.

        A version is never replaced by other content: what was seen first stays, beside the alarm.
        """
        if document.refused:
            values = (registry, document.name, document.version, document.refused, now)
            self._db.execute("INSERT OR REPLACE INTO refused VALUES (?, ?, ?, ?, ?)", values)
            return None
        digest = digest_of_document(document)
        known = self.kept(registry, document.name, document.version)
        key = (registry, document.name, document.version)
        meta = _encode(document.meta)
        if known is None or known.digest == digest or not document.version:
            seen = known.seen if known and known.digest == digest else now
            values = (*key, _text_of(document), meta, digest, seen)
            self._db.execute("INSERT OR REPLACE INTO documents VALUES (?,?,?,?,?,?,?)", values)
            self._db.execute(f"DELETE FROM refused WHERE {_KEY}", key)
            self._db.execute(f"DELETE FROM alarms WHERE {_KEY}", key)
            return None
        values = (*key, _text_of(document), meta, digest, now)
        self._db.execute("INSERT OR REPLACE INTO alarms VALUES (?,?,?,?,?,?,?)", values)
        # Whether it is still active is for the registry to say; what it is made of is not.
        self._db.execute(f"UPDATE documents SET meta = ? WHERE {_KEY}", (meta, *key))
        return Alarm(*key, known.digest, digest, now)

    def accept(self, alarm: Alarm) -> None:
        """Let what a version says now take the place of what it said."""
        key = (alarm.registry, alarm.name, alarm.version)
        take = f"INSERT OR REPLACE INTO documents SELECT * FROM alarms WHERE {_KEY}"
        self._db.execute(take, key)
        self._db.execute(f"DELETE FROM alarms WHERE {_KEY}", key)

    def forget_others(self, registry: str, seen: Iterable[tuple[str, str]]) -> int:
        """Forget what a registry does not have any more; how many documents those were."""
        kept, counts = set(seen), list[int]()
        for table in ("documents", "refused"):
            query = f"SELECT name, version FROM {table} WHERE registry = ?"
            rows = [*self._rows(query, [registry])]
            gone = [(registry, *row) for row in rows if tuple(row) not in kept]
            self._db.executemany(f"DELETE FROM {table} WHERE {_KEY}", gone)
            counts.append(len(gone))
        return counts[0]

    def kept(self, registry: str, name: str, version: str) -> Kept | None:
        """A version of a server, if it is known."""
        query = f"SELECT document, meta, digest, seen FROM documents WHERE {_KEY}"
        row = self._row(query, [registry, name, version])
        return self._kept(name, version, row) if row else None

    def versions(self, registry: str, name: str) -> list[Kept]:
        """All versions of a server that are known, the latest first."""
        query = (
            "SELECT version, document, meta, digest, seen FROM documents "
            "WHERE registry = ? AND name = ?"
        )
        rows = self._rows(query, [registry, name])
        return sorted((self._kept(name, x[0], x[1:]) for x in rows), key=_lateness, reverse=True)

    def latest(self, registry: str) -> Iterator[Kept]:
        """The latest version of each server of a registry."""
        query = (
            "SELECT name, version, document, meta, digest, seen FROM documents "
            "WHERE registry = ? ORDER BY name"
        )
        best: Kept | None = None
        for row in self._rows(query, [registry]):
            one = self._kept(row[0], row[1], row[2:])
            if best and best.document.name != one.document.name:
                yield best
                best = None
            best = max(best, one, key=_lateness) if best else one
        if best:
            yield best

    def names(self, registry: str) -> list[str]:
        """The names of all servers of a registry."""
        query = "SELECT DISTINCT name FROM documents WHERE registry = ? ORDER BY name"
        return [x for (x,) in self._rows(query, [registry])]

    def refusal(self, registry: str, name: str, version: str | None) -> str:
        """Why a version of a server is refused; empty where it is not.

        Without a version it is the latest: one that is refused is not made up for by an older one.
        """
        query = "SELECT version, reason FROM refused WHERE registry = ? AND name = ?"
        refused = dict[str, str](cast(Any, self._rows(query, [registry, name])))
        if version is not None or not refused:
            return refused.get(version or "", "")
        last = max(refused, key=order_of)
        known = self.versions(registry, name)
        is_older = known and order_of(last) < order_of(known[0].document.version)
        return "" if is_older else refused[last]

    def alarms(self, registry: str, name: str | None = None) -> list[Alarm]:
        """Which versions say something else than they once did."""
        query = (
            "SELECT a.registry, a.name, a.version, d.digest, a.digest, a.seen FROM alarms a "
            "JOIN documents d USING (registry, name, version) WHERE a.registry = ?1 "
            "AND (?2 IS NULL OR a.name = ?2) ORDER BY a.name, a.version"
        )
        return [Alarm(*row) for row in self._rows(query, [registry, name])]

    def _kept(self, name: str, version: str, row: Sequence[Any]) -> Kept:
        try:
            told, meta = json.loads(row[0]), json.loads(row[1])
            document = Document(
                name, version, told["server"], None, {**meta}, told["extras"], told["place"],
                has_namespace=told["has_namespace"],
            )  # fmt: skip
        except (ValueError, TypeError, KeyError) as cause:
            raise self._unusable(cause) from cause
        return Kept(document, row[2], row[3])

    # Packages

    def changed_package(self, identifier: str, integrity: str, now: str) -> str:
        """Note the hash of a package's version; the one that it had before, if it is another."""
        query = "SELECT hash FROM integrity WHERE identifier = ?"
        row = self._row(query, [identifier])
        if row:
            return "" if row[0] == integrity else row[0]
        self._db.execute("INSERT INTO integrity VALUES (?, ?, ?)", [identifier, integrity, now])
        return ""


_KEY = "registry = ? AND name = ? AND version = ?"


def _text_of(document: Document) -> str:
    return _encode({
        "server": document.server,
        "extras": document.extras,
        "place": document.place,
        "has_namespace": document.has_namespace,
    })  # fmt: skip


def _lateness(kept: Kept) -> tuple[Any, ...]:
    """What the registry says is the latest counts, then the version."""
    meta: JsonObject = kept.document.meta
    return meta.get("isLatest") is True, order_of(kept.document.version)
