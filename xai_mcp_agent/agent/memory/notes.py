"""Notes an agent keeps, and finds again by what they are about.

A memory is shared by wire, never by accident: each agent sees its own notes
only, also where several agents use one memory node or one file.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from ...core.errors import XaiMcpError
from ...core.tools import JsonObject
from .similarity import rank

logger = logging.getLogger(__name__)

Vector = Sequence[float]
Embed = Callable[[list[str]], list[Vector]]
"""Gives a vector for each text; may take long and may fail. Called in a worker thread."""

# Below this a note has next to nothing in common with what was asked.
_FLOOR = 0.05


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


class MemoryFailed(XaiMcpError):
    """A memory that cannot be read or written; says which file or service, and what to do."""


@dataclass(slots=True)
class _Stored:
    agent: str
    id: str
    text: str
    metadata: Any
    vector: Vector | None = None


@dataclass
class NoteStore:
    """Notes of any number of agents, in memory and, if wanted, in a file of one JSON line each.

    Safe to use from several threads. `embed` is asked for vectors where one is given; if it
    fails, likeness is worked out here and the failure is told once.
    """

    file: Path | None = None
    embed: Embed | None = None
    notes: list[_Stored] = field(default_factory=list[_Stored])

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._told = False
        self._ends_whole = True
        if self.file is not None and self.file.exists():
            self._load(self.file)

    def __deepcopy__(self, memo: dict[int, Any]) -> NoteStore:
        """Itself: who copies a `ctx` to work in another thread writes into the same memory."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """What another process gets: the notes so far, the file, no lock."""
        return {"file": self.file, "embed": self.embed, "notes": self.notes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)

    def for_agent(self, agent: str) -> AgentMemory:
        """The memory of one agent; the notes of the others are not in it."""
        return AgentMemory(self, agent)

    def add(self, agent: str, id: str, text: str, metadata: Any) -> None:
        """Keep a note, in the file first: what was promised to be remembered is not lost.

        The same note again changes nothing: a workflow that is run daily does not fill the file.
        """
        vectors = self._vectors([text])
        with self._lock:
            if any((x.agent, x.text, x.metadata) == (agent, text, metadata) for x in self.notes):
                return
            stored = _Stored(agent, id or f"note-{len(self.notes) + 1}", text, metadata)
            stored.vector = vectors[0] if vectors else None
            self._append(stored)
            self.notes.append(stored)

    def query(self, agent: str, query: str, count: int) -> list[Note]:
        """The notes of one agent that are most like `query`, best first."""
        with self._lock:
            own = [x for x in self.notes if x.agent == agent]
        scores = self._scores(query, own)
        ranked = sorted(zip(scores, own, strict=True), key=lambda x: -x[0])[:count]
        return [Note(x.id, round(score, 3), x.metadata) for score, x in ranked if score >= _FLOOR]

    def _scores(self, query: str, notes: list[_Stored]) -> list[float]:
        vectors = self._vectors([query]) if all(x.vector for x in notes) else None
        if vectors:
            return [_cosine(vectors[0], x.vector or ()) for x in notes]
        return rank(query, [x.text for x in notes])

    def _vectors(self, texts: list[str]) -> list[Vector] | None:
        if self.embed is None:
            return None
        try:
            return self.embed(texts)
        except XaiMcpError as cause:
            if not self._told:
                logger.warning("Embeddings failed, notes are compared by their words: %s", cause)
            self._told = True
            return None

    def _append(self, note: _Stored) -> None:
        if self.file is None:
            return
        # All in ASCII: a note may hold half a character, which no file encoding takes.
        line = json.dumps(asdict(note), default=str)
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a", encoding="utf-8") as out:
                out.write(("" if self._ends_whole else "\n") + line + "\n")
            self._ends_whole = True
        except OSError as cause:
            raise MemoryFailed(
                f"The memory file {self.file} cannot be written: {cause.strerror}. "
                "Choose another `file`, or free it."
            ) from cause

    def _load(self, file: Path) -> None:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as cause:
            raise MemoryFailed(
                f"The memory file {file} cannot be read: {cause}. Choose another `file`."
            ) from cause
        self._ends_whole = not text or text.endswith("\n")
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                self._load_line(file, number, line)

    def _load_line(self, file: Path, number: int, line: str) -> None:
        try:
            raw = cast(JsonObject, json.loads(line))
            note = _Stored(raw["agent"], raw["id"], raw["text"], raw["metadata"], raw.get("vector"))
        except (ValueError, KeyError, TypeError) as cause:
            # A run that was killed while writing leaves half a line; the others are whole.
            logger.warning("%s, line %s is no note and was passed over: %r", file, number, cause)
        else:
            self.notes.append(note)


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


def _cosine(one: Vector, other: Vector) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=False))
    lengths = sum(a * a for a in one) ** 0.5 * sum(b * b for b in other) ** 0.5
    return dot / lengths if lengths else 0.0
