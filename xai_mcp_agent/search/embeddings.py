"""Search by meaning: keys found by the vectors of their texts.

A user's function makes the vectors. It may be slow, fail, or return nonsense; searches then use
words alone. Needs numpy, which the extra `embeddings` installs.
"""

from __future__ import annotations

import heapq
import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from ..core.errors import PROGRAM_ERRORS, XaiMcpError
from ..core.imports import import_aside
from .vectors import StoredVectors, hash_of

logger = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)

Embed = Callable[[list[str]], Sequence[Sequence[float]]]
"""Returns a vector for each text. May take long and may fail; called in worker threads."""

EXTRA = 'pip install "xai-mcp-agent[embeddings]"'

QUERY_SECONDS = 2.0
"""Limit of a search's wait for the vector of its query: words alone find most tools."""
FILL_SECONDS = 60.0
"""Limit for the vectors of tools, which no search waits for: some models are loaded first."""
PAUSE_SECONDS = 60.0
"""Pause after a failure of a model, which is likely to last."""

_NEAR = 0.25  # the smallest cosine above chance
_BATCH = 16  # texts in a batch: a second of a slow machine
_MAX_BYTES = 2_000  # characters of a text: models read about 500 tokens
_MAX_REASON = 500  # characters of an error: some services repeat the whole request
_MAX_QUERIES = 256  # cached queries, as runs search for the same thing several times
_MAX_PARTS = 6  # parts of a query
# A request for several things is close to none of them as a whole, but its parts are.
_PARTS_SHARE = 0.75
_DIGITS = 6  # digits of a cosine: the last bits differ between processors

_LOOKUP_SIZE = 512  # vectors read from the store at once


class NoEmbeddings(XaiMcpError):
    """Search by meaning is impossible: a package is missing, or the model cannot be used."""


class BadVector(Exception):
    """An embedding function did not return one vector of numbers for each text."""


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
    """Closeness of a key to a query: its share of the closest one, and its highest cosine."""

    share: float
    cosine: float

    @property
    def is_near(self) -> bool:
        """Return whether that is more than chance."""
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
        self._vectors: dict[str, Any] = {}  # by text
        self._table: tuple[dict[K, int], Any] | None = None  # see `_rows_and_matrix`
        self._queries: dict[str, Any] = {}
        self._length = 0  # dimensions of the model's vectors; 0 before the first
        self._batch = _BATCH
        self._failures = Counter[str]()  # of each text
        # Separate locks: a query that waits behind a batch of a busy model must not stop the
        # batches.
        self._for_texts = _PatientModel(embedder, "Tools")
        self._for_query = _PatientModel(embedder, "A query")

    def put(self, key: K, text: str) -> None:
        """Set the text of a key. An unchanged text keeps its vector."""
        with self._lock:
            if self._texts.get(key) != (text := _cut(text)):
                self._texts[key], self._table = text, None

    def remove(self, key: K) -> None:
        """Remove a key, if it exists."""
        with self._lock:
            if self._texts.pop(key, None) is not None:
                self._table = None

    def recall(self, store: StoredVectors) -> None:
        """Take missing vectors from a store."""
        texts = self._missing()
        for start in range(0, len(texts), _LOOKUP_SIZE):
            by_hash = {hash_of(x): x for x in texts[start : start + _LOOKUP_SIZE]}
            self._add({by_hash[x]: vector for x, vector in store.read([*by_hash]).items()})

    def fill(self, store: StoredVectors | None = None, seconds: float = FILL_SECONDS) -> bool:
        """Make some of the missing vectors; return whether there is more to do now.

        It waits for one batch of the model, at most `seconds`. Vectors that come later are used
        when they come. After a failure the model has a pause of a minute.
        """
        texts = self._missing()[: self._batch]
        if not texts:
            return False

        def take(answer: Any) -> None:
            vectors = dict(zip(texts, self._unit_vectors(answer, len(texts)), strict=True))
            self._add(vectors)
            if store is not None:
                store.write({hash_of(text): vector for text, vector in vectors.items()})

        is_done = self._for_texts.ask(texts, take, seconds)
        # One by one after a failure: one text that the model refuses must not keep others out.
        self._batch = _BATCH if is_done else 1
        self._failures.update(() if is_done else texts)
        return is_done

    def count_ready(self, keys: Iterable[K]) -> int:
        """Return how many of these keys have a vector."""
        with self._lock:
            return sum(self._texts.get(x) in self._vectors for x in keys)

    def knows(self, query: str) -> bool:
        """Return whether the vector of this query is cached."""
        return _cut(query.strip()) in self._queries

    def look_up(self, query: str, parts: Sequence[str] = ()) -> None:
        """Ask the model for the vectors of a query and its parts, unless they are cached."""
        with self._lock:
            texts = dict.fromkeys(_query_texts(query, parts))
            new = [x for x in texts if x not in self._queries]
            if not new or not self._vectors:
                return

        def take(answer: Any) -> None:
            vectors = self._unit_vectors(answer, len(new))
            with self._lock:
                self._add({})
                self._queries |= zip(new, vectors, strict=True)
                for text in list(self._queries)[:-_MAX_QUERIES]:
                    del self._queries[text]

        self._for_query.ask(new, take, QUERY_SECONDS)

    def compare(self, query: str, parts: Sequence[str] = ()) -> Comparison[K] | None:
        """Compare the keys with a query and its parts; None as long as vectors are missing."""
        with self._lock:
            texts = _query_texts(query, parts)
            vectors = [self._queries[x] for x in texts if x in self._queries]
            rows, matrix = self._rows_and_matrix()
            if not rows or not vectors or len(vectors) < len(texts):
                return None
            # Not `@`: its library waits for threads of its own on a busy machine.
            cosines = self._numpy.einsum("ij,kj->ik", matrix, self._numpy.stack(vectors))
            return Comparison(rows, self._numpy.round(cosines, _DIGITS))

    def _rows_and_matrix(self) -> tuple[dict[K, int], Any]:
        """Return the row of each key that has a vector, and all vectors; drop unused vectors."""
        if self._table is None:
            texts = dict.fromkeys(x for x in self._texts.values() if x in self._vectors)
            self._vectors = {x: self._vectors[x] for x in texts}
            rows = {text: row for row, text in enumerate(texts)}
            of_keys = {key: rows[x] for key, x in self._texts.items() if x in rows}
            self._table = of_keys, self._numpy.array([*self._vectors.values()])
        return self._table

    def _missing(self) -> list[str]:
        """Return the texts without a vector, those that failed most often last."""
        with self._lock:
            texts = dict.fromkeys(x for x in self._texts.values() if x not in self._vectors)
            return sorted(texts, key=self._failures.__getitem__)

    def _add(self, vectors: Mapping[str, Any]) -> None:
        with self._lock:
            self._vectors |= vectors
            # Vectors of another length were stored by another model of the same name.
            length = self._length or len(next(iter(self._vectors.values()), ()))
            self._vectors = {x: y for x, y in self._vectors.items() if len(y) == length}
            self._table = None

    def _unit_vectors(self, answer: Any, count: int) -> Any:
        """Return the vectors in an answer of the model, scaled to length 1.

        Raises:
            BadVector: there is not one vector of numbers for each text.
        """
        try:
            vectors = self._numpy.array([list(x) for x in answer], "f8")
        except (TypeError, ValueError, OverflowError) as cause:
            raise BadVector(f"its answer is not a vector for each text ({cause})") from cause
        if vectors.ndim != 2 or len(vectors) != count or not vectors.size:
            raise BadVector(f"there were {len(vectors)} vectors for {count} texts, or empty ones")
        lengths = self._numpy.linalg.norm(vectors, axis=1, keepdims=True)
        if not self._numpy.isfinite(lengths).all():
            raise BadVector("a vector has a number in it that is not finite")
        self._length = vectors.shape[1]
        return (vectors / self._numpy.maximum(lengths, 1e-12)).astype("f4")


class Comparison(Generic[K]):
    """Keys compared with a query and its parts. `rows` are the rows of the cosines, by key."""

    def __init__(self, rows: Mapping[K, int], cosines: Any) -> None:
        self._rows, self._cosines = rows, cosines

    def nearest(self, limit: int, among: Collection[K] | None = None) -> set[K]:
        """Return up to `limit` keys near the query, and near each part; none by chance."""
        keys = [*(self._rows if among is None else self._rows.keys() & among)]
        nearest = set[K]()
        for column in self._cosines[[self._rows[x] for x in keys]].T:
            near = (column >= _NEAR).nonzero()[0]
            ranked: list[Any] = [(-column[n], keys[n]) for n in near]
            nearest.update(key for _, key in heapq.nsmallest(limit, ranked))
        return nearest

    def closeness(self, keys: Iterable[K]) -> dict[K, Closeness]:
        """Return how close these keys are, as far as they have a vector."""
        cosines = {x: self._cosines[self._rows[x]].tolist() for x in keys if x in self._rows}
        # If nothing is near, the nearest key says little.
        best = [max(_NEAR, *x) for x in zip(*cosines.values(), strict=True)]
        return {key: _closeness(x, best) for key, x in cosines.items()}


class _PatientModel:
    """An embedder with a time limit for each call, and a pause of a minute after a failure."""

    def __init__(self, embedder: Embedder, what: str) -> None:
        self._embedder, self._what = embedder, what
        self._retry_at = 0.0
        self._late: threading.Thread | None = None
        self._has_warned = False

    def ask(self, texts: list[str], take: Callable[[Any], None], seconds: float) -> bool:
        """Return whether the model answered in time. `take` gets the answer, also a late one."""
        is_late = self._late is not None and self._late.is_alive()
        if is_late or time.monotonic() < self._retry_at:
            return False
        outcome = Future[None]()

        def run() -> None:
            try:
                take(self._embedder.embed(texts))
                self._retry_at = 0.0
                outcome.set_result(None)
            except BaseException as error:  # noqa: BLE001 - `outcome.result` raises it
                outcome.set_exception(error)

        # Not in a pool: Python would wait at its end for a function that hangs.
        thread = threading.Thread(target=run, name="xai-mcp-embedding", daemon=True)
        thread.start()
        try:
            outcome.result(seconds)
        except TimeoutError:
            self._late = thread
            self._fail(texts, f"no answer within {seconds:g} seconds")
        except PROGRAM_ERRORS as error:  # anybody's function
            is_ours = isinstance(error, XaiMcpError | BadVector)
            self._fail(texts, str(error) if is_ours else f"{type(error).__name__}: {error}")
        else:
            return True
        return False

    def _fail(self, texts: Sequence[str], reason: str) -> None:
        self._retry_at = time.monotonic() + PAUSE_SECONDS
        for text in texts:  # a person's request does not belong in the log
            for words in (text, json.dumps(text)[1:-1]):
                reason = reason.replace(words, "...")
        logger.log(
            logging.DEBUG if self._has_warned else logging.WARNING,
            "%s could not be compared by meaning with %s: %s. Words alone count until that works.",
            self._what, self._embedder.where, reason[:_MAX_REASON].rstrip("."),
        )  # fmt: skip
        self._has_warned = True


def numpy_module() -> Any:
    """Return numpy, which takes a moment to load.

    Raises:
        NoEmbeddings: it is not installed.
    """
    try:
        return import_aside("numpy")
    except ImportError as cause:
        problem = f"Search by meaning needs a package that is not installed ({cause})."
        raise NoEmbeddings(f"{problem} Install it: {EXTRA}") from cause


def _closeness(cosines: Sequence[float], best: Sequence[float]) -> Closeness:
    whole, *parts = (max(x, 0.0) / y for x, y in zip(cosines, best, strict=True))
    share = (1 - _PARTS_SHARE) * whole + _PARTS_SHARE * max(parts) if parts else whole
    return Closeness(share, max(cosines))


def _query_texts(query: str, parts: Sequence[str]) -> list[str]:
    texts = (_cut(x.strip()) for x in (query, *parts[:_MAX_PARTS]))
    return [x for x in texts if x]


def _cut(text: str) -> str:
    return text.encode("utf-8", "replace")[:_MAX_BYTES].decode("utf-8", "ignore")
