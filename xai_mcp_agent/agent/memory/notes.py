"""Notes that an agent makes, and finds again by their subject.

A memory is shared by wire, never by accident: each agent sees only its own notes, even if several
agents use one memory node or one file. The file is an SQLite database, which several processes may
use at once.
"""

from __future__ import annotations

import heapq
import json
import logging
import os
import sqlite3
import threading
import weakref
from array import array
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from operator import mul
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from ...core.errors import XaiMcpError
from ...search.index import LexicalIndex
from ...search.terms import spelling_terms, weigh
from ...secrets.private_files import follow_link, make_private_folder, open_private

logger = logging.getLogger(__name__)

Vector = Sequence[float]
Embed = Callable[[list[str]], list[Vector]]
"""Returns a vector for each text; may take long and may fail. Called in a worker thread."""

_TABLE = """\
CREATE TABLE IF NOT EXISTS notes (
    agent TEXT NOT NULL, id TEXT NOT NULL, text TEXT NOT NULL, metadata TEXT NOT NULL,
    vector BLOB NOT NULL, UNIQUE (agent, text, metadata)
)"""
_LOCK_SECONDS = 10.0  # writing a note takes milliseconds, so a longer lock is stuck
# Below this a note has next to nothing in common with the query.
_FLOOR = 0.05
_USUAL_LENGTH = 30.0  # of a note: a dozen words with their parts


class MemoryFailed(XaiMcpError):
    """A memory cannot be read or written; says which file or service, and what to do."""


@dataclass(frozen=True, slots=True)
class MemoryNote:
    """A search result. `similarity` is 0 to 1; `attributes` is everything that was remembered."""

    id: str
    similarity: float
    attributes: Any


@runtime_checkable
class Memory(Protocol):
    """A memory for AgentInit; xai-agent's own memories fit it too."""

    def query(self, query: str, n: int) -> Sequence[Any]:
        """Return the notes most like `query`, best first, at most `n`."""
        ...

    def add(self, id: str, text: str, metadata: Any) -> None:
        """Add a note; it is found again by `text`."""
        ...


@runtime_checkable
class MemoryStore(Protocol):
    """A store that keeps the notes of several agents apart; the output of a memory node."""

    def for_agent(self, agent: str) -> Memory:
        """Return the memory of one agent."""
        ...


class NoteStore:
    """Notes of any number of agents, in memory or in a file.

    Safe to use from several threads, and a file also from several processes. `embed`, if given,
    makes vectors; if it fails, notes are compared by their words and the failure is logged once.
    `content` is the serialized content of another store in memory.

    Raises:
        MemoryFailed: the file exists and cannot be read, or is not a memory.
    """

    def __init__(
        self, file: Path | None = None, embed: Embed | None = None, content: bytes = b""
    ) -> None:
        self._file, self._embed = file, embed
        self._lock = threading.RLock()
        self._has_warned = False
        self._by_agent: dict[str, _AgentNotes] = {}
        self._in_memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._in_memory.close)
        if content:
            self._in_memory.deserialize(content)
        self._in_memory.execute(_TABLE)
        self._read("", 0)

    def __deepcopy__(self, memo: dict[int, Any]) -> NoteStore:
        """Return this object: a `ctx` copied for another thread uses the same memory."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Reduce to the file, or to the notes so far, for another process."""
        return NoteStore, (self._file, self._embed, self._in_memory.serialize())

    def for_agent(self, agent: str) -> AgentMemory:
        """Return the memory of one agent, without the notes of others."""
        return AgentMemory(self, agent)

    def add(self, agent: str, id: str, text: str, metadata: Any) -> None:
        """Add a note; adding the same note again changes nothing.

        So a workflow that runs daily does not fill the file.

        Raises:
            MemoryFailed: the file cannot be written.
        """
        # As JSON, which is ASCII: a note may hold half a surrogate pair, which SQLite refuses.
        contents = json.dumps(text), json.dumps(metadata, default=str)
        row = agent, str(id or ""), *contents, self._vector(text).tobytes()
        with self._database(writes=True) as database, database:
            database.execute("BEGIN IMMEDIATE")
            database.execute(_TABLE)
            database.execute("INSERT OR IGNORE INTO notes VALUES (?, ?, ?, ?, ?)", row)

    def query(self, agent: str, query: str, count: int) -> list[MemoryNote]:
        """Return the notes of one agent that are most like `query`, best first.

        Raises:
            MemoryFailed: the file cannot be read.
        """
        vector = self._vector(query)
        with self._lock:
            notes = self._by_agent.setdefault(agent, _AgentNotes())
            for row in self._read(agent, notes.last_row):
                notes.add(*row)
            return notes.query(query, vector, count)

    def _read(self, agent: str, after: int) -> list[tuple[Any, ...]]:
        """Return the notes of an agent after this row."""
        if self._file is not None and not os.path.exists(self._file):
            return []
        with self._database() as database:
            if not database.execute("SELECT 1 FROM sqlite_schema WHERE name = 'notes'").fetchall():
                return []
            return database.execute(
                "SELECT rowid, id, text, metadata, vector FROM notes "
                "WHERE agent = ? AND rowid > ? ORDER BY rowid",
                (agent, after),
            ).fetchall()

    @contextmanager
    def _database(self, *, writes: bool = False) -> Generator[sqlite3.Connection]:
        """Yield the database. A file is opened anew each time: processes fork, threads change."""
        if self._file is None:
            with self._lock:
                yield self._in_memory
            return
        try:
            file = follow_link(self._file.absolute())
            if writes:
                make_private_folder(file.parent)
                os.close(open_private(file, os.O_RDWR | os.O_CREAT))
            uri = f"{file.as_uri()}?mode={'rw' if writes else 'ro'}"
            database = sqlite3.connect(uri, timeout=_LOCK_SECONDS, isolation_level=None, uri=True)
            with closing(database):
                yield database
        except (OSError, sqlite3.Error) as cause:
            why = getattr(cause, "strerror", None) or cause
            raise MemoryFailed(
                f"The memory file {self._file} cannot be {'written' if writes else 'read'}: {why}. "
                "Choose another `file`, or free it."
            ) from cause

    def _vector(self, text: str) -> array[float]:
        try:
            vectors = self._embed([text]) if self._embed else ()
            return _unit(vectors[0] if vectors else ())
        except XaiMcpError as cause:
            if not self._has_warned:
                logger.warning("Embeddings failed, notes are compared by their words: %s", cause)
            self._has_warned = True
            return _unit(())


class _AgentNotes:
    """The notes of one agent, ready to search; words are rare or common among these alone."""

    def __init__(self) -> None:
        self.last_row = 0
        self._notes: list[tuple[str, str, str]] = []  # id, text and metadata
        self._vectors: list[array[float]] = []
        self._index = LexicalIndex[int]()

    def add(self, row: int, id: str, text: str, metadata: str, vector: bytes) -> None:
        self.last_row = row
        self._notes.append((id or f"note-{row}", json.loads(text), metadata))
        self._vectors.append(array("d", vector))

    def query(self, query: str, vector: array[float], count: int) -> list[MemoryNote]:
        scores = self._by_meaning(vector) or self._by_words(query, count)
        best = heapq.nlargest(count, scores.items(), key=lambda x: (x[1], -x[0]))
        matches = [(min(score, 1.0), self._notes[n]) for n, score in best if score >= _FLOOR]
        return [MemoryNote(id, round(score, 3), json.loads(x)) for score, (id, _, x) in matches]

    def _by_meaning(self, query: array[float]) -> dict[int, float]:
        """Return scores by vector, or nothing unless every note has a vector of the same model."""
        if not query or any(len(x) != len(query) for x in self._vectors):
            return {}
        return {n: sum(map(mul, query, x)) for n, x in enumerate(self._vectors)}

    def _by_words(self, query: str, count: int) -> dict[int, float]:
        # Indexed only now: notes that are found by vector need no index.
        for number in range(len(self._index), len(self._notes)):
            terms = spelling_terms(self._notes[number][1])
            self._index.put(number, weigh(terms, _USUAL_LENGTH))
        terms = spelling_terms(query)
        whole = self._index.whole(terms)
        return {number: score / whole for number, score in self._index.search(terms, count)}


@dataclass(frozen=True)
class AgentMemory:
    """One agent's notes in a store. A `Memory`."""

    store: NoteStore
    agent: str

    def query(self, query: str, n: int) -> list[MemoryNote]:
        """Return the notes most like `query`."""
        return self.store.query(self.agent, query, n)

    def add(self, id: str, text: str, metadata: Any) -> None:
        """Add a note."""
        self.store.add(self.agent, id, text, metadata)


def memory_for(value: Any, agent: str) -> Memory | None:
    """Return this agent's memory from the value that AgentInit was given.

    Raises:
        MemoryFailed: it is not a memory.
    """
    if isinstance(value, MemoryStore):
        return value.for_agent(agent)
    if value is None or isinstance(value, Memory):
        return value
    raise MemoryFailed(
        f"agent_memory of {agent!r} is {type(value).__name__}, not a memory. "
        "Wire the `memory` port of a memory node to it."
    )


def _unit(vector: Iterable[float]) -> array[float]:
    """Return the vector scaled to length 1, packed."""
    packed = array("d", vector)
    length = sum(map(mul, packed, packed)) ** 0.5
    return array("d", [x / length for x in packed] if length else ())
