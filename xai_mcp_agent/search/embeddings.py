"""The dense leg of the search: what is near in meaning, by vectors that somebody's function makes.

The function may be slow, fail, or answer nonsense. Then less is found by meaning, and never
anything late: who searches goes on with words alone.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from array import array
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from ..core.errors import XaiMcpError
from .vectors import BadVector, Vector, VectorIndex, unit

logger = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

Embed = Callable[[list[str]], Sequence[Vector]]
"""Gives a vector for each text. May take long and may fail; called in worker threads."""

NEAR = 0.25
"""The least cosine of what counts as near: below it even what is nearest is mostly chance."""

QUERY_SECONDS = 2.0
"""A person waits for a search, and words alone find most of it."""

_BATCH = 16  # a second of a slow machine; usual servers take twice as many
_LOOKED_UP = 512  # of a cache at once
FILL_SECONDS = 60.0
"""For a batch that nobody waits for: some models are loaded first."""

# Of a text. Nearly all of them are shorter, and models read about 500 tokens.
_MOST_BYTES = 2_000
# A slow answer may be the only one; what fails is likely to fail for a while.
_PAUSE_IF_SLOW_SECONDS, _PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 1.0, 60.0, 600.0
_WELL_IN_TIME = 0.25
_MOST_LATE = 3  # threads that wait for answers nobody waits for any more
_MOST_REASON = 500  # characters; some services answer with all that they were sent
_MOST_QUERIES = 256  # remembered, as runs search for the same several times
_MOST_PARTS = 6  # of a query: hardly anybody asks for more
# Of a request for several things the whole is near to none of them, and a part is to one.
_PARTS_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class Embedder:
    """A way to make vectors.

    `model` is in the keys of caches: it tells its vectors from those of others. `where` says in
    messages whom to look at, and `advice` what to do.
    """

    embed: Embed = field(repr=False)
    model: str
    where: str
    advice: str = ""


class Closeness(NamedTuple):
    """How close something is: its part of the closest there is, and its highest cosine."""

    share: float
    cosine: float

    @property
    def is_near(self) -> bool:
        """Whether that is more than chance."""
        return self.cosine >= NEAR


class VectorCache(Protocol):
    """Vectors that were made before, by the hashes of their texts. Never raises."""

    def read(self, hashes: Sequence[str], /) -> Mapping[str, Vector]:
        """Those that it has."""
        ...

    def write(self, vectors: Mapping[str, Vector], /) -> None:
        """Keep these."""
        ...


class DenseIndex(Generic[K]):
    """Keys found by what their texts mean. Safe for several threads.

    `fill` makes the vectors, piece by piece; until then, and while that fails, keys are just not
    found. So a thread of its own may fill it while others search. What goes wrong is told once.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._index = VectorIndex[K]()
        self._queries: dict[str, array[float]] = {}
        self._lock = threading.RLock()
        self._size: int = 0  # of the vectors that the model makes; 0 while it has made none
        # Apart: a query that waits behind a batch for a busy model must not end the batches.
        self._for_texts = _Attempts(embedder, "Tools")
        self._for_query = _Attempts(embedder, "A query")

    @property
    def made(self) -> int:
        """How many different texts have vectors."""
        return len(self._index)

    @property
    def wait_seconds(self) -> float:
        """How long `fill` leaves the model alone, because it failed."""
        return self._for_texts.wait_seconds

    def put(self, key: K, text: str) -> None:
        """Have a key found by what this text means. Unchanged, it keeps its vector."""
        self._index.put(key, _cut(text))

    def remove(self, key: K) -> None:
        """Forget a key, if it is there."""
        self._index.remove(key)

    def recall(self, cache: VectorCache) -> None:
        """Take the vectors that a cache has of those that are missing."""
        missing = list(self._index.missing())
        for begin in range(0, len(missing), _LOOKED_UP):
            self._index.add(self._remembered(cache, missing[begin : begin + _LOOKED_UP]))

    def fill(self, cache: VectorCache | None = None, seconds: float = FILL_SECONDS) -> bool:
        """Make some of the vectors that are missing; whether there is more to do now.

        Takes as long as the model for 16 texts, but no longer than `seconds`; what comes later is
        taken when it comes. If there is nothing more to do, all are there, or the model failed and
        is left alone for `wait_seconds`.
        """
        texts = self._index.missing(self._for_texts.most)
        if not texts or self.wait_seconds:
            return False

        def take(answer: Any) -> bool:
            vectors = dict(zip(texts, self._checked(answer, len(texts)), strict=True))
            self._index.add(vectors)
            if cache is not None:
                cache.write(vectors)
            return True

        is_done = self._for_texts.ask(list(texts.values()), take, seconds)
        if not is_done:
            self._index.postpone(texts)  # it may be one of these that it cannot do
        return bool(is_done)

    def prepared(self, keys: Iterable[K]) -> int:
        """How many of these keys have a vector."""
        return self._index.count(keys)

    def knows(self, query: str) -> bool:
        """Whether the vector of a query is there, so that a search by meaning need not wait."""
        return _cut(query.strip()) in self._queries

    def vectors(self, query: str, parts: Sequence[str]) -> list[array[float]]:
        """What a query means, and each of its parts; the longest queries have few of them.

        Nothing if that takes too long or fails, or is of no use yet.
        """
        texts = [y for x in (query, *parts[:_MOST_PARTS]) if (y := _cut(x.strip()))]
        if not texts or not self.made:
            return []
        with self._lock:
            known = {x: self._queries[x] for x in texts if x in self._queries}
        new = [x for x in dict.fromkeys(texts) if x not in known]

        def take(answer: Any) -> dict[str, array[float]]:
            made = dict(zip(new, self._checked(answer, len(new)), strict=True))
            self._remember(made)
            return made

        made = self._for_query.ask(new, take, QUERY_SECONDS) if new else {}
        return [] if made is None else [(known | made)[x] for x in texts]

    def nearest(
        self, vectors: Sequence[array[float]], limit: int, among: Collection[K] | None = None
    ) -> set[K]:
        """For each of the vectors the keys that are nearest; see `VectorIndex.nearest`."""
        found = (self._index.nearest(x, limit, NEAR, among) for x in vectors)
        return {key for keys in found for key in keys}

    def closeness(self, vectors: Sequence[array[float]], keys: Collection[K]) -> dict[K, Closeness]:
        """How close these keys are to a query and its parts, as far as that is known."""
        cosines = self._index.cosines(vectors, keys) if vectors else {}
        # Where nothing is near, what is nearest says little.
        bests = [max(NEAR, *x) for x in zip(*cosines.values(), strict=True)]
        return {key: _closeness(x, bests) for key, x in cosines.items()}

    def _remembered(self, cache: VectorCache, hashes: Collection[str]) -> dict[str, array[float]]:
        """The vectors of a cache; without those of another model that had the same name."""
        found = _sound(cache.read(list(hashes)))
        return {x: vector for x, vector in found.items() if self._size in (0, len(vector))}

    def _remember(self, queries: Mapping[str, array[float]]) -> None:
        with self._lock:
            self._queries |= queries
            for text in list(self._queries)[: max(len(self._queries) - _MOST_QUERIES, 0)]:
                del self._queries[text]

    def _checked(self, vectors: Any, count: int) -> list[array[float]]:
        """The vectors in an answer; the first answer decides how long vectors are.

        Raises:
            BadVector: they are no vectors, too few or many, or of another length.
        """
        found = [unit(x) for x in vectors]
        if len(found) != count:
            raise BadVector(f"there were {len(found)} vectors for {count} texts")
        with self._lock:
            sizes = {len(x) for x in found} | {x for x in (self._size,) if x}
            if len(sizes) > 1:
                shown = " and ".join(str(x) for x in sorted(sizes))
                raise BadVector(f"its vectors have different lengths, {shown}")
            self._size = sizes.pop()
            if self._index.size not in (0, self._size):
                self._index.clear()  # they were remembered, and are of another model of that name
        return found


class _Attempts:
    """Asks an embedder, and waits a limited time; when it fails, it is left alone for a while."""

    def __init__(self, embedder: Embedder, what: str) -> None:
        self.most = _BATCH  # texts at once
        self._embedder, self._what = embedder, what
        self._pause, self._again = 0.0, 0.0
        self._has_told = False
        self._late: list[threading.Thread] = []

    @property
    def wait_seconds(self) -> float:
        """How long it is left alone from now on."""
        return max(self._again - time.monotonic(), 0.0)

    def ask(self, texts: list[str], take: Callable[[Any], T], seconds: float) -> T | None:
        """What `take` makes of the answer; None where it fails, is late, or is left alone.

        An answer that is late is taken all the same. It is left alone, too, while it owes several.
        """
        self._late = [x for x in self._late if x.is_alive()]
        if self.wait_seconds or len(self._late) >= _MOST_LATE:
            return None
        began = time.monotonic()
        answer, thread = _begun(lambda: take(self._embedder.embed(texts)))
        try:
            taken = answer.result(seconds)
        except TimeoutError:
            self._late.append(thread)
            self._failed(f"no answer within {seconds:g} seconds", _PAUSE_IF_SLOW_SECONDS)
            return None
        except Exception as cause:  # noqa: BLE001 - it is somebody's function, and may do anything
            is_ours = isinstance(cause, XaiMcpError | BadVector)
            reason = str(cause) if is_ours else f"{type(cause).__name__}: {cause}"
            self._failed(_without(texts, reason), _PAUSE_SECONDS)
            return None
        self._pause = 0.0
        if time.monotonic() - began < seconds * _WELL_IN_TIME:
            self.most = min(self.most * 2, _BATCH)
        return taken

    def _failed(self, reason: str, least_pause: float) -> None:
        self._pause = min(max(self._pause * 2, least_pause), _LONGEST_PAUSE_SECONDS)
        self._again = time.monotonic() + self._pause
        # So the one that it cannot do does not take the others with it.
        self.most = max(self.most // 2, 1)
        level = logging.DEBUG if self._has_told else logging.WARNING
        self._has_told = True
        logger.log(
            level, "%s could not be compared by meaning with %s: %s. Words alone count until that "
            "works. %s", self._what, self._embedder.where, reason.rstrip("."),
            self._embedder.advice,
        )  # fmt: skip


def _without(texts: Sequence[str], reason: str) -> str:
    """A reason to be logged, without what a person said."""
    for text in texts:
        for said in (text, json.dumps(text)[1:-1]):
            reason = reason.replace(said, "...")
    return reason[:_MOST_REASON]


def _begun(do: Callable[[], T]) -> tuple[Future[T], threading.Thread]:
    """What comes of it in a thread, for which nobody has to wait."""
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(do())
        except BaseException as cause:  # noqa: BLE001 - raised again where it is waited for
            answer.set_exception(cause)

    # Not one of a pool: Python would wait at its end for one that hangs.
    thread = threading.Thread(target=run, name="xai-mcp-embedding", daemon=True)
    thread.start()
    return answer, thread


def _closeness(cosines: Sequence[float], bests: Sequence[float]) -> Closeness:
    whole, *parts = (max(x, 0.0) / best for x, best in zip(cosines, bests, strict=True))
    share = (1 - _PARTS_SHARE) * whole + _PARTS_SHARE * max(parts) if parts else whole
    return Closeness(share, max(cosines))


def _sound(vectors: Mapping[str, Vector]) -> dict[str, array[float]]:
    """Those of a cache that are vectors."""
    found: dict[str, array[float]] = {}
    for digest, vector in vectors.items():
        try:
            found[digest] = unit(vector)
        except BadVector as cause:
            logger.debug("A remembered vector is made anew: %s", cause)
    return found


def _cut(text: str) -> str:
    return text.encode("utf-8", "replace")[:_MOST_BYTES].decode("utf-8", "ignore")
