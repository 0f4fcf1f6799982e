"""Vectors of texts, and which of them are nearest to another one: in plain Python, or numpy."""

from __future__ import annotations

import hashlib
import math
import threading
from array import array
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import islice
from operator import mul
from typing import Any, Generic, TypeVar, cast

from .index import highest, numpy_if_there, only

K = TypeVar("K", bound=Hashable)

Vector = Sequence[float]

_HASH_CHARS = 32
# So much the last bits differ between ways to add up; what is equal must be equal in all.
_DIGITS = 6


class BadVector(Exception):
    """Something that is no vector of real numbers."""


def content_hash(text: str) -> str:
    """What tells a text from others, and does not give it away."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]


def unit(vector: Iterable[float]) -> array[float]:
    """The vector with the length 1, packed; one of zeros stays so, and is near to nothing.

    Raises:
        BadVector: it has something in it that is no number.
    """
    try:
        numbers = array("d", vector)
    except (TypeError, ValueError, OverflowError) as cause:
        raise BadVector(f"something in a vector is no number ({cause})") from cause
    length = math.hypot(*numbers)
    if not math.isfinite(length) or not numbers:
        raise BadVector("a vector has a number in it that is not finite" if numbers else "empty")
    return array("f", (x / (length or 1.0) for x in numbers))


class VectorIndex(Generic[K]):
    """Keys with texts, found by the vectors of the texts as soon as these are there.

    Texts that are the same have one vector. Safe for several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._hashes: dict[K, str] = {}
        self._keys: defaultdict[str, set[K]] = defaultdict(set)
        self._texts: dict[str, str] = {}
        self._missing: dict[str, None] = {}  # an ordered set
        self._rows = _Rows()

    def __len__(self) -> int:
        """How many different vectors there are."""
        return len(self._rows)

    @property
    def size(self) -> int:
        """How many numbers a vector has; 0 while there is none."""
        return self._rows.size

    def put(self, key: K, text: str) -> None:
        """Have a key found by this text. One that has not changed keeps its vector."""
        digest = content_hash(text)
        with self._lock:
            if self._hashes.get(key) == digest:
                return
            self.remove(key)
            self._hashes[key] = digest
            self._keys[digest].add(key)
            if digest not in self._texts:
                self._texts[digest] = text
                self._missing[digest] = None

    def remove(self, key: K) -> None:
        """Forget a key, if it is there."""
        with self._lock:
            if (digest := self._hashes.pop(key, None)) is None:
                return
            self._keys[digest].discard(key)
            if not self._keys[digest]:
                del self._keys[digest], self._texts[digest]
                self._missing.pop(digest, None)
                self._rows.remove(digest)

    def missing(self, limit: int | None = None) -> dict[str, str]:
        """Texts that have no vector yet, by their hashes; at most so many, the oldest first."""
        with self._lock:
            return {x: self._texts[x] for x in islice(self._missing, limit)}

    def postpone(self, hashes: Iterable[str]) -> None:
        """Let these be the last of those that are missing."""
        with self._lock:
            for digest in hashes:
                if digest in self._missing:
                    del self._missing[digest]
                    self._missing[digest] = None

    def add(self, vectors: Mapping[str, array[float]]) -> int:
        """Take vectors of length 1 for hashes that are missing; how many of them were of use.

        Those of another size than the vectors that are there are left out.
        """
        with self._lock:
            wanted = [x for x in vectors if x in self._missing and self._rows.fits(vectors[x])]
            for digest in wanted:
                self._rows.put(digest, vectors[digest])
                del self._missing[digest]
            return len(wanted)

    def clear(self) -> None:
        """Forget all vectors: they are all missing now."""
        with self._lock:
            self._rows = _Rows()
            self._missing = dict.fromkeys(self._texts)

    def nearest(
        self, vector: array[float], limit: int, floor: float, among: Collection[K] | None = None
    ) -> dict[K, float]:
        """The keys whose texts are nearest, with the cosines, best first, equals by their keys.

        At most so many, none below `floor`, which is above 0; only of those `among`, if given.
        """
        with self._lock:
            hashes = None if among is None else {self._hashes.get(x, "") for x in among}
            near = self._rows.nearest(vector, limit, hashes)
            keys = {key for digest in near for key in self._keys[digest]}
            found = self.cosines([vector], keys if among is None else keys.intersection(among))
        ordered = sorted(cast(Any, found).items(), key=lambda x: (-x[1][0], x[0]))
        return {key: cosine for key, (cosine,) in ordered[:limit] if cosine >= floor}

    def count(self, keys: Iterable[K]) -> int:
        """How many of these keys have a vector."""
        with self._lock:
            return sum(self._hashes.get(x, "") in self._rows for x in keys)

    def cosines(
        self, vectors: Sequence[array[float]], keys: Iterable[K]
    ) -> dict[K, tuple[float, ...]]:
        """How near to each of these vectors the texts of these keys are.

        Keys without a vector are left out.
        """
        with self._lock:
            known = {key: x for key in keys if (x := self._hashes.get(key, "")) in self._rows}
            if any(len(x) != self.size for x in vectors):
                return {}
            cosines = self._rows.cosines(list(known.values()), vectors)
            return dict(zip(known, cosines, strict=True))


class _Rows:
    """Vectors by hashes, one after the other in one piece of memory."""

    def __init__(self) -> None:
        self.size = 0
        self._numbers = array("f")
        self._row: dict[str, int] = {}
        self._hashes: list[str] = []  # by row; empty where one is free
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._row)

    def __contains__(self, digest: str) -> bool:
        return digest in self._row

    def fits(self, vector: array[float]) -> bool:
        """Whether it has the size of those that are there; the first one decides."""
        self.size = self.size or len(vector)
        return len(vector) == self.size

    def put(self, digest: str, vector: array[float]) -> None:
        if self._free:
            row = self._free.pop()
            self._numbers[row * self.size : (row + 1) * self.size] = vector
        else:
            row = len(self._hashes)
            self._numbers.extend(vector)
            self._hashes.append("")
        self._row[digest], self._hashes[row] = row, digest

    def remove(self, digest: str) -> None:
        if (row := self._row.pop(digest, None)) is not None:
            zeros = array("f", bytes(self.size * self._numbers.itemsize))
            self._numbers[row * self.size : (row + 1) * self.size] = zeros  # near to nothing
            self._hashes[row] = ""
            self._free.append(row)

    def cosines(
        self, hashes: Sequence[str], vectors: Sequence[array[float]]
    ) -> list[tuple[float, ...]]:
        """For each of the hashes the cosines with each of the vectors; the same with numpy."""
        rows = [self._row[x] for x in hashes]
        if numpy := numpy_if_there():
            wanted = numpy.array(vectors, "f8").reshape(-1, self.size)
            found = numpy.einsum("ij,kj->ik", self._matrix(numpy)[rows].astype("f8"), wanted)
            return [tuple(x) for x in numpy.round(found, _DIGITS).tolist()]
        return [tuple(self._cosine(row, x) for x in vectors) for row in rows]

    def nearest(
        self, vector: array[float], limit: int, hashes: Collection[str] | None
    ) -> list[str]:
        """The nearest ones and those as near as the last of them, in any order."""
        if len(vector) != self.size:
            return []
        rows = None if hashes is None else [self._row[x] for x in hashes if x in self._row]
        return [self._hashes[row] for row in highest(self._cosines(vector, rows), limit)]

    def _cosines(self, vector: array[float], rows: Sequence[int] | None) -> Any:
        """By row; 0 for others than these."""
        if numpy := numpy_if_there():
            # Not `@`, for which numpy's library waits for threads of its own on a busy machine.
            cosines = numpy.einsum("ij,j->i", self._matrix(numpy), numpy.frombuffer(vector, "f4"))
            return cosines if rows is None else only(cosines, rows)
        cosines = [0.0] * len(self._hashes)
        for row in range(len(cosines)) if rows is None else rows:
            cosines[row] = self._cosine(row, vector)
        return cosines

    def _matrix(self, numpy: Any) -> Any:
        # Not to be kept: while it is there, no row can be added.
        return numpy.frombuffer(self._numbers, "f4").reshape(-1, self.size)

    def _cosine(self, row: int, vector: array[float]) -> float:
        numbers = self._numbers[row * self.size : (row + 1) * self.size]
        return round(sum(map(mul, numbers, vector)), _DIGITS)
