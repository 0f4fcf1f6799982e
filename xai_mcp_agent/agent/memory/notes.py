"""Notes an agent keeps, and finds again by what they are about.

A memory is shared by wire, never by accident: each agent sees its own notes
only, also where several agents use one memory node or one file.
"""

from __future__ import annotations

import heapq
import json
import logging
import threading
from array import array
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import mul
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from ...core.errors import XaiMcpError
from ...search.index import LexicalIndex
from ...search.terms import spelled_terms, weighted
from .note_file import MemoryFailed, NoteFile, StoredNote, unit

logger = logging.getLogger(__name__)

Vector = Sequence[float]
Embed = Callable[[list[str]], list[Vector]]
"""Gives a vector for each text; may take long and may fail. Called in a worker thread."""

# Below this a note has next to nothing in common with what was asked.
_FLOOR = 0.05
_USUAL_LENGTH = 30.0  # of a note: a dozen words with their parts


@dataclass(frozen=True, slots=True)
class Note:
    """A note as it is found. `similarity` is 0 to 1; `attributes` is all that was remembered."""

    id: str
    similarity: float
    attributes: Any


@runtime_checkable
class Memory(Protocol):
    """What AgentInit takes as a memory; xai-agent's own memories fit it too."""

    def query(self, query: str, n: int) -> Sequence[Any]:
        """The notes most like `query`, best first, at most `n`."""
        ...

    def add(self, id: str, text: str, metadata: Any) -> None:
        """Keep a note; it is found again by `text`."""
        ...


@runtime_checkable
class MemoryStore(Protocol):
    """Keeps the notes of several agents apart; what a memory node gives out."""

    def for_agent(self, agent: str) -> Memory:
        """The memory of one agent."""
        ...


class NoteStore:
    """Notes of any number of agents, in memory and, if wanted, in a file of one JSON line each.

    Safe to use from several threads; a file also from several processes, each of which has the
    notes of all. `embed` is asked for vectors where one is given; if it fails, likeness is worked
    out here and the failure is told once.

    Raises:
        MemoryFailed: the file is there and cannot be read, or is no memory.
    """

    def __init__(
        self,
        file: Path | None = None,
        embed: Embed | None = None,
        notes: Iterable[StoredNote] = (),
    ) -> None:
        self.notes: list[StoredNote] = []
        self._path, self._embed = file, embed
        self._file = NoteFile(file) if file else None
        self._lock = threading.RLock()
        self._has_told = False
        self._forget()
        for note in notes:
            self._take(note)
        self._catch_up()

    def __deepcopy__(self, memo: dict[int, Any]) -> NoteStore:
        """Itself: who copies a `ctx` to work in another thread writes into the same memory."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """What another process gets: the notes so far, the file, no lock."""
        return NoteStore, (self._path, self._embed, self.notes)

    def for_agent(self, agent: str) -> AgentMemory:
        """The memory of one agent; the notes of the others are not in it."""
        return AgentMemory(self, agent)

    def add(self, agent: str, id: str, text: str, metadata: Any) -> None:
        """Keep a note, in the file first: what was promised to be remembered is not lost.

        The same note again changes nothing: a workflow that is run daily does not fill the file.

        Raises:
            MemoryFailed: the file cannot be written.
        """
        note = StoredNote(agent, str(id or ""), str(text), metadata, self._vector(text))
        with self._lock, self._shared():
            if _key(note) in self._known:
                return
            note.id = note.id or self._new_id()
            if self._file is None:
                self._take(note)
            else:
                self._file.append(note)
                self._read(self._file)

    def query(self, agent: str, query: str, count: int) -> list[Note]:
        """The notes of one agent that are most like `query`, best first."""
        wanted = self._vector(query)
        with self._lock:
            try:
                self._catch_up()
            except MemoryFailed as reason:
                logger.warning("%s Until then the notes that were read before are used.", reason)
            own = self._by_agent.get(agent)
            return own.query(query, wanted, count) if own else []

    @contextmanager
    def _shared(self) -> Generator[None]:
        """With all notes of other processes, and without new ones of theirs within the block."""
        if self._file is None:
            yield
            return
        with self._file.locked():
            self._read(self._file)
            yield

    def _catch_up(self) -> None:
        if self._file is not None and self._file.has_news:
            with self._shared():
                pass

    def _read(self, file: NoteFile) -> None:
        is_anew, found = file.read()
        if is_anew and self._from_file:
            self._forget()
        for note in found:
            self._take(note)
            self._from_file = True

    def _forget(self) -> None:
        self._from_file = False
        self.notes.clear()
        self._known: set[tuple[str, str, str]] = set()
        self._ids: set[str] = set()
        self._by_agent: dict[str, _AgentNotes] = {}

    def _take(self, note: StoredNote) -> None:
        key = _key(note)
        if key not in self._known:
            self._known.add(key)
            self._ids.add(note.id)
            self.notes.append(note)
            self._by_agent.setdefault(note.agent, _AgentNotes()).add(note)

    def _new_id(self) -> str:
        number = len(self.notes) + 1
        while f"note-{number}" in self._ids:
            number += 1
        return f"note-{number}"

    def _vector(self, text: str) -> array[float]:
        try:
            vectors = self._embed([text]) if self._embed else ()
            return unit(vectors[0] if vectors else None)
        except XaiMcpError as cause:
            if not self._has_told:
                logger.warning("Embeddings failed, notes are compared by their words: %s", cause)
            self._has_told = True
            return unit(None)


class _AgentNotes:
    """The notes of one agent, ready to be searched; what is rare is so among these alone."""

    def __init__(self) -> None:
        self._notes: list[StoredNote] = []
        self._index = LexicalIndex[int]()

    def add(self, note: StoredNote) -> None:
        self._notes.append(note)

    def query(self, query: str, vector: array[float], count: int) -> list[Note]:
        scores = self._by_meaning(vector) or self._by_words(query, count)
        best = heapq.nlargest(count, scores.items(), key=lambda x: (x[1], -x[0]))
        found = [(min(score, 1.0), self._notes[n]) for n, score in best if score >= _FLOOR]
        return [Note(x.id, round(score, 3), x.metadata) for score, x in found]

    def _by_meaning(self, wanted: array[float]) -> dict[int, float]:
        """Nothing where not every note has a vector of the model that is asked."""
        if not wanted or any(len(x.vector) != len(wanted) for x in self._notes):
            return {}
        return {n: sum(map(mul, wanted, x.vector)) for n, x in enumerate(self._notes)}

    def _by_words(self, query: str, count: int) -> dict[int, float]:
        # Only now, as notes that are found by their meaning need no index.
        for number in range(len(self._index), len(self._notes)):
            words = spelled_terms(self._notes[number].text)
            self._index.put(number, weighted(words, _USUAL_LENGTH))
        wanted = spelled_terms(query)
        whole = self._index.whole(wanted)
        return {number: score / whole for number, score in self._index.search(wanted, count)}


@dataclass(frozen=True)
class AgentMemory:
    """One agent's notes in a store. A `Memory`."""

    store: NoteStore
    agent: str

    def query(self, query: str, n: int) -> list[Note]:
        """The notes most like `query`."""
        return self.store.query(self.agent, query, n)

    def add(self, id: str, text: str, metadata: Any) -> None:
        """Keep a note."""
        self.store.add(self.agent, id, text, metadata)


def memory_for(value: Any, agent: str) -> Memory | None:
    """What AgentInit was given as a memory, for this agent.

    Raises:
        MemoryFailed: it is not a memory.
    """
    if value is None or isinstance(value, AgentMemory):
        return value
    if isinstance(value, MemoryStore):
        return value.for_agent(agent)
    if isinstance(value, Memory):
        return value
    raise MemoryFailed(
        f"agent_memory of {agent!r} is {type(value).__name__}, not a memory. "
        "Wire the `memory` port of a memory node to it."
    )


def _key(note: StoredNote) -> tuple[str, str, str]:
    """What makes a note the same as another."""
    try:
        metadata = json.dumps(note.metadata, sort_keys=True, default=str)
    except (TypeError, ValueError):  # keys of several types, or a circle
        metadata = repr(note.metadata)
    return note.agent, note.text, metadata
