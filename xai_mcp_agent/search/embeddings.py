"""Search by meaning: vectors of texts, and the store that keeps them from run to run.

A function of somebody makes the vectors. It may be slow, fail, or answer nonsense; searches then
go on with words alone. Needs numpy, which the extra `embeddings` installs.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ..core.errors import StoreFailed, XaiMcpError
from ..core.imports import import_aside

if TYPE_CHECKING:
    from ..history.history import History
    from ..history.recording.recorder import HistoryRecorder

logger = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

Embed = Callable[[list[str]], Sequence[Sequence[float]]]
"""Returns a vector for each text. May take long and may fail; called in worker threads."""

EXTRA = 'pip install "xai-mcp-agent[embeddings]"'

QUERY_SECONDS = 2.0
"""How long a search waits for the vector of its query: words alone find most tools."""
FILL_SECONDS = 60.0
"""How long the vectors of tools may take, for which nobody waits: some models are loaded first."""
PAUSE_SECONDS = 60.0
"""How long a model is left alone after a failure, which is likely to last."""

_NEAR = 0.25  # the least cosine that is more than chance
_BATCH = 16  # a second of a slow machine
_MAX_BYTES = 2_000  # of a text: models read about 500 tokens
_MAX_REASON = 500  # characters: some services answer with all that they were sent
_MAX_QUERIES = 256  # cached, as runs search for the same thing several times
_MAX_PARTS = 6  # of a query
# A request for several things is near to none of them as a whole, but its parts are.
_PARTS_SHARE = 0.75
_DIGITS = 6  # of a cosine: the last bits differ between processors

_LOOKUP_SIZE = 512  # vectors read from the store at once
_MAX_STORED = 50_000  # the last used; 80 MB with 384 numbers each
_UNUSED, _DAY = timedelta(days=90), timedelta(days=1)
_STORE_SECONDS = 30.0  # after that vectors are made again
_HASH_CHARS = 32


class NoEmbeddings(XaiMcpError):
    """Search by meaning is not possible: a package is missing, or the model cannot be used."""


class BadVector(Exception):
    """An answer of an embedding function that is not one vector of numbers for each text."""


@dataclass(frozen=True, slots=True)
class Embedder:
    """A way to make vectors.

    `model` is part of the key of stored vectors, and differs between models. `where` names the
    model in messages.
    """

    embed: Embed = field(repr=False)
    model: str
    where: str


class Closeness(NamedTuple):
    """How close a key is to a query: its share of the closest one, and its highest cosine."""

    share: float
    cosine: float

    @property
    def is_near(self) -> bool:
        """Whether that is more than chance."""
        return self.cosine >= _NEAR


class DenseIndex(Generic[K]):
    """Keys found by the meaning of their texts. Thread-safe.

    `fill` makes the vectors batch by batch, perhaps in a thread of its own. A key without a vector
    is not found. A failure of the model is logged once.

    Raises:
        NoEmbeddings: numpy is not installed.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._numpy = numpy_module()
        self._lock = threading.RLock()
        self._texts: dict[K, str] = {}
        self._uses = Counter[str]()  # of each text
        self._missing: dict[str, None] = {}  # an ordered set of texts without a vector
        self._vectors: dict[str, Any] = {}
        self._matrix: Any = None  # of all vectors, made when a search needs it
        self._queries: dict[str, Any] = {}
        self._size = 0  # of the vectors that the model makes; 0 before it has made one
        self._batch = _BATCH
        # Apart: a query that waits behind a batch of a busy model must not end the batches.
        self._for_texts = _PatientModel(embedder, "Tools")
        self._for_query = _PatientModel(embedder, "A query")

    def put(self, key: K, text: str) -> None:
        """Have a key found by the meaning of this text. An unchanged one keeps its vector."""
        text = _cut(text)
        with self._lock:
            if self._texts.get(key) == text:
                return
            self.remove(key)
            self._texts[key] = text
            self._uses[text] += 1
            if text not in self._vectors:
                self._missing[text] = None

    def remove(self, key: K) -> None:
        """Remove a key, if it is there."""
        with self._lock:
            text = self._texts.pop(key, None)
            if text is None:
                return
            self._uses[text] -= 1
            if not self._uses[text]:
                del self._uses[text]
                self._missing.pop(text, None)
                if self._vectors.pop(text, None) is not None:
                    self._matrix = None

    def recall(self, store: StoredVectors) -> None:
        """Take missing vectors from a store."""
        with self._lock:
            texts = list(self._missing)
        for start in range(0, len(texts), _LOOKUP_SIZE):
            by_hash = {_digest(x): x for x in texts[start : start + _LOOKUP_SIZE]}
            self._add({by_hash[x]: vector for x, vector in store.read([*by_hash]).items()})

    def fill(self, store: StoredVectors | None = None, seconds: float = FILL_SECONDS) -> bool:
        """Make some of the missing vectors; whether there is more to do now.

        Waits for the model as long as it takes for a batch, at most `seconds`. Later vectors are
        taken when they come. After a failure the model is left alone for a minute.
        """
        with self._lock:
            texts = list(islice(self._missing, self._batch))
        if not texts:
            return False

        def take(answer: Any) -> None:
            vectors = dict(zip(texts, self._checked(answer, len(texts)), strict=True))
            self._add(vectors)
            if store is not None:
                store.write({_digest(text): vector for text, vector in vectors.items()})

        is_done = self._for_texts.ask(texts, take, seconds)
        # One by one after a failure: one text that the model refuses must not keep others out.
        self._batch = _BATCH if is_done else 1
        with self._lock:
            for text in [x for x in texts if x in self._missing]:  # to the end of the queue
                del self._missing[text]
                self._missing[text] = None
        return is_done

    def prepared(self, keys: Iterable[K]) -> int:
        """How many of these keys have a vector."""
        with self._lock:
            return sum(self._texts.get(x) in self._vectors for x in keys)

    def knows(self, query: str) -> bool:
        """Whether the vector of this query is cached."""
        return _cut(query.strip()) in self._queries

    def look_up(self, query: str, parts: Sequence[str] = ()) -> None:
        """Have the model make the vectors of a query and of its parts, unless they are cached."""
        with self._lock:
            texts = dict.fromkeys(_query_texts(query, parts))
            new = [x for x in texts if x not in self._queries]
            if not new or not self._vectors:
                return

        def take(answer: Any) -> None:
            vectors = self._checked(answer, len(new))
            with self._lock:
                self._queries |= zip(new, vectors, strict=True)
                for text in list(self._queries)[:-_MAX_QUERIES]:
                    del self._queries[text]

        self._for_query.ask(new, take, QUERY_SECONDS)

    def compare(self, query: str, parts: Sequence[str] = ()) -> Comparison[K] | None:
        """The keys compared with a query and its parts; None while their vectors are not known."""
        with self._lock:
            texts = _query_texts(query, parts)
            vectors = [self._queries[x] for x in texts if x in self._queries]
            if not vectors or len(vectors) < len(texts) or not self._vectors:
                return None
            if self._matrix is None:
                self._matrix = self._numpy.stack(list(self._vectors.values()))
            # Not `@`: its library waits for threads of its own on a busy machine.
            cosines = self._numpy.einsum("ij,kj->ik", self._matrix, self._numpy.stack(vectors))
            rows = {text: row for row, text in enumerate(self._vectors)}
            of_keys = {key: rows[x] for key, x in self._texts.items() if x in rows}
            return Comparison(of_keys, self._numpy.round(cosines, _DIGITS))

    def _add(self, vectors: Mapping[str, Any]) -> None:
        with self._lock:
            for text in self._missing.keys() & vectors:
                vector = vectors[text]
                # Of another size it was stored by another model that had the same name.
                size = self._size or len(next(iter(self._vectors.values()), vector))
                if len(vector) == size:
                    self._vectors[text], self._matrix = vector, None
                    del self._missing[text]

    def _checked(self, answer: Any, count: int) -> Any:
        """The unit vectors in an answer of the model.

        Raises:
            BadVector: it has no vector of the usual length for each text.
        """
        vectors = self._unit_vectors(answer, count)
        size = vectors.shape[1]
        with self._lock:
            if self._size not in (0, size):
                shown = f"{min(size, self._size)} and {max(size, self._size)}"
                raise BadVector(f"its vectors have different lengths, {shown}")
            self._size = size
            if self._vectors and len(next(iter(self._vectors.values()))) != size:
                # Those from the store are of another model that had the same name.
                self._missing |= dict.fromkeys(self._vectors)
                self._vectors.clear()
                self._matrix = None
        return vectors

    def _unit_vectors(self, answer: Any, count: int) -> Any:
        try:
            vectors = self._numpy.array([list(x) for x in answer], "f8")
        except (TypeError, ValueError, OverflowError) as cause:
            raise BadVector(f"its answer is not a vector for each text ({cause})") from cause
        if vectors.ndim != 2 or len(vectors) != count or not vectors.size:
            raise BadVector(f"there were {len(vectors)} vectors for {count} texts, or empty ones")
        lengths = self._numpy.linalg.norm(vectors, axis=1, keepdims=True)
        if not self._numpy.isfinite(lengths).all():
            raise BadVector("a vector has a number in it that is not finite")
        return (vectors / self._numpy.maximum(lengths, 1e-12)).astype("f4")


class Comparison(Generic[K]):
    """Keys compared with a query and its parts. `rows` are those of the cosines, by key."""

    def __init__(self, rows: Mapping[K, int], cosines: Any) -> None:
        self._rows, self._cosines = rows, cosines

    def nearest(self, limit: int, among: Collection[K] | None = None) -> set[K]:
        """The keys nearest to the query and to each part, so many of each; none by chance."""
        keys = [*(self._rows if among is None else self._rows.keys() & among)]
        found = set[K]()
        for column in self._cosines[[self._rows[x] for x in keys]].T:
            near = (column >= _NEAR).nonzero()[0]
            ranked: list[Any] = [(-column[n], keys[n]) for n in near]
            found.update(key for _, key in heapq.nsmallest(limit, ranked))
        return found

    def closeness(self, keys: Iterable[K]) -> dict[K, Closeness]:
        """How close those of these keys are that have a vector."""
        cosines = {x: self._cosines[self._rows[x]].tolist() for x in keys if x in self._rows}
        # Where nothing is near, the nearest says little.
        best = [max(_NEAR, *x) for x in zip(*cosines.values(), strict=True)]
        return {key: _closeness(x, best) for key, x in cosines.items()}


class _PatientModel:
    """Asks an embedder with a time limit; after a failure it is left alone for a minute."""

    def __init__(self, embedder: Embedder, what: str) -> None:
        self._embedder, self._what = embedder, what
        self._retry_at = 0.0
        self._late: threading.Thread | None = None
        self._has_warned = False

    def ask(self, texts: list[str], take: Callable[[Any], None], seconds: float) -> bool:
        """Whether the model answered in time, and `take` took it. A late answer is taken, too."""
        is_late = self._late is not None and self._late.is_alive()
        if is_late or time.monotonic() < self._retry_at:
            return False
        done = Future[None]()

        def run() -> None:
            try:
                take(self._embedder.embed(texts))
                self._retry_at = 0.0
                done.set_result(None)
            except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
                done.set_exception(error)

        # Not in a pool: Python would wait at its end for a function that hangs.
        thread = threading.Thread(target=run, name="xai-mcp-embedding", daemon=True)
        thread.start()
        try:
            done.result(seconds)
        except TimeoutError:
            self._late = thread
            self._fail(texts, f"no answer within {seconds:g} seconds")
        except Exception as error:  # noqa: BLE001 - anybody's function
            is_ours = isinstance(error, XaiMcpError | BadVector)
            self._fail(texts, str(error) if is_ours else f"{type(error).__name__}: {error}")
        else:
            return True
        return False

    def _fail(self, texts: Sequence[str], reason: str) -> None:
        self._retry_at = time.monotonic() + PAUSE_SECONDS
        for text in texts:  # what a person asked for is not for the log
            for words in (text, json.dumps(text)[1:-1]):
                reason = reason.replace(words, "...")
        logger.log(
            logging.DEBUG if self._has_warned else logging.WARNING,
            "%s could not be compared by meaning with %s: %s. Words alone count until that works.",
            self._what, self._embedder.where, reason[:_MAX_REASON].rstrip("."),
        )  # fmt: skip
        self._has_warned = True


class StoredVectors:
    """Vectors of one model in the history's store. Its methods block: not for an event loop.

    A store that fails has no vectors.
    """

    def __init__(self, recorder: HistoryRecorder, model: str) -> None:
        self._recorder, self._model = recorder, _digest(model)

    def read(self, hashes: Sequence[str]) -> Mapping[str, Any]:
        """The stored vectors of texts with these hashes."""
        read = partial(_read_vectors, model=self._model, hashes=hashes)
        return _result(self._recorder.read(read, {}), {})

    def write(self, vectors: Mapping[str, Any]) -> None:
        """Store vectors by the hashes of their texts."""
        _result(self._recorder.ask(partial(_write, model=self._model, made=vectors)), None)


def numpy_module() -> Any:
    """numpy, which takes a moment to load.

    Raises:
        NoEmbeddings: it is not installed.
    """
    try:
        return import_aside("numpy")
    except ImportError as cause:
        problem = f"Search by meaning needs a package that is not installed ({cause})."
        raise NoEmbeddings(f"{problem} Install it: {EXTRA}") from cause


# What follows runs in a thread that owns the store. SQLAlchemy is imported there.


def _read_vectors(history: History, model: str, hashes: Sequence[str]) -> dict[str, Any]:
    """The stored vectors of texts with these hashes. Their use is noted once a day."""
    from sqlalchemy import select, update

    from ..history.tables import vectors

    numpy = numpy_module()
    these = vectors.c.model == model, vectors.c.content.in_(hashes)
    old = *these, vectors.c.used < datetime.now(UTC) - _DAY
    with history.reading() as connection:
        rows = connection.execute(select(vectors.c.content, vectors.c.vector).where(*these)).all()
        is_old = connection.execute(select(vectors.c.content).where(*old).limit(1)).first()
    if is_old and not history.store.is_to_read:
        with history.writing(everything=True) as connection:
            connection.execute(update(vectors).where(*old).values(used=datetime.now(UTC)))
    return {x.content: numpy.frombuffer(x.vector, "<f4") for x in rows}


def _write(history: History, model: str, made: Mapping[str, Any]) -> None:
    """Store vectors; those that are long unused go."""
    from sqlalchemy import delete, insert, select

    from ..history.tables import vectors

    now = datetime.now(UTC)
    rows = [
        {"model": model, "content": x, "vector": vector.astype("<f4").tobytes(), "used": now}
        for x, vector in made.items()
    ]
    same = vectors.c.model == model, vectors.c.content.in_(made)
    with history.writing(everything=True) as connection:
        connection.execute(delete(vectors).where(*same))
        connection.execute(insert(vectors), rows)
        connection.execute(delete(vectors).where(vectors.c.used < now - _UNUSED))
        by_use = select(vectors.c.used).order_by(vectors.c.used.desc())
        last = connection.execute(by_use.offset(_MAX_STORED).limit(1)).scalar()
        if last is not None:
            connection.execute(delete(vectors).where(vectors.c.used < last))


def _result(future: Future[T], default: T) -> T:
    try:
        return future.result(_STORE_SECONDS)
    except (StoreFailed, TimeoutError) as reason:
        logger.debug("Vectors are neither looked up nor stored: %s", reason)
        return default


def _closeness(cosines: Sequence[float], best: Sequence[float]) -> Closeness:
    whole, *parts = (max(x, 0.0) / y for x, y in zip(cosines, best, strict=True))
    share = (1 - _PARTS_SHARE) * whole + _PARTS_SHARE * max(parts) if parts else whole
    return Closeness(share, max(cosines))


def _query_texts(query: str, parts: Sequence[str]) -> list[str]:
    texts = (_cut(x.strip()) for x in (query, *parts[:_MAX_PARTS]))
    return [x for x in texts if x]


def _cut(text: str) -> str:
    return text.encode("utf-8", "replace")[:_MAX_BYTES].decode("utf-8", "ignore")


def _digest(text: str) -> str:
    """The hash of a text, by which the store knows it without its words."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
