"""The one lexical index: documents of weighted terms, kept up to date one by one.

BM25 over weights (https://doi.org/10.1561/1500000019, section 3.5). What a document's terms weigh,
lengths included, is for its owner to say: so what an index holds of a document never depends on the
others, and the same documents score the same however they came in.
"""

from __future__ import annotations

import heapq
import importlib
import math
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence, Set
from functools import cache
from itertools import chain, pairwise
from typing import Any, Generic, TypeAlias, TypeVar, cast

from .terms import root, synonyms

K = TypeVar("K", bound=Hashable)

_SATURATION = 1.2  # how soon more of a term says no more
# What else may be meant by a word, against the word itself.
_SYNONYM, _SAME_ROOT, _ROOT_INSTEAD, _JOINED = 0.2, 0.3, 0.5, 0.5
# Fewer are added up faster in pure Python than numpy is loaded.
_LEAST_FOR_NUMPY = 2_000

_Postings: TypeAlias = tuple["array[int]", "array[float]"]
"""Documents by their numbers, and how much a term counts in each."""
_NOWHERE: _Postings = array("I"), array("d")


class LexicalIndex(Generic[K]):
    """Documents by key. Not for several threads at once."""

    def __init__(self) -> None:
        self._numbers: dict[K, int] = {}
        self._keys: list[K | None] = []  # by number; None where one is free
        self._free: list[int] = []
        self._terms: list[tuple[str, ...]] = []  # by number
        self._postings: dict[str, _Postings] = {}
        self._by_root: defaultdict[str, set[str]] = defaultdict(set)

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, key: object) -> bool:
        return key in self._numbers

    def put(self, key: K, weights: Mapping[str, float]) -> None:
        """Add a document, or replace it; takes time by its own length.

        A term that is there once in a text of usual length weighs about 1.
        """
        self.remove(key)
        number = self._new_number(key)
        self._terms[number] = tuple(weights)
        for term, weight in weights.items():
            if term not in self._postings:
                self._postings[term] = array("I"), array("d")
                self._by_root[root(term)].add(term)
            documents, impacts = self._postings[term]
            place = bisect_left(documents, number)
            documents.insert(place, number)
            impacts.insert(place, _impact(weight))

    def remove(self, key: K) -> None:
        """Forget a document, if it is there."""
        number = self._numbers.pop(key, None)
        if number is None:
            return
        for term in self._terms[number]:
            documents, impacts = self._postings[term]
            place = bisect_left(documents, number)
            del documents[place], impacts[place]
            if not documents:
                del self._postings[term]
                of_root = self._by_root[root(term)]
                of_root.discard(term)
                if not of_root:
                    del self._by_root[root(term)]
        self._terms[number], self._keys[number] = (), None
        self._free.append(number)

    def terms_of(self, key: K) -> Iterable[str]:
        """The terms of a document; none where there is no such document."""
        number = self._numbers.get(key)
        return () if number is None else self._terms[number]

    def whole(self, wanted: Mapping[str, float]) -> float:
        """The score of a document that has all of these terms once, in texts of usual length."""
        return sum(weight * self.rarity(term) for term, weight in wanted.items())

    def wanted(self, words: Sequence[str]) -> dict[str, float]:
        """What to search for where somebody used these words.

        At less weight what is near them: other words for the same deed, words of the same root, and
        two words in one.
        """
        weights = dict.fromkeys(words, 1.0)
        for word in words:
            is_known = word in self._postings
            near = dict.fromkeys(synonyms(word), _SYNONYM)
            # In one order everywhere: sums of floats differ by it.
            of_root = sorted(self._by_root.get(root(word), ()))
            near |= dict.fromkeys(of_root, _SAME_ROOT if is_known else _ROOT_INSTEAD)
            for term, weight in near.items():
                weights[term] = max(weights.get(term, 0.0), weight)
        for first, second in pairwise(words):
            if (joined := f"{first}{second}") in self._postings:
                weights.setdefault(joined, _JOINED)
        return weights

    def rarity(self, term: str, more: int = 0) -> float:
        """How much it says that a document has this term; the rarest say most.

        So many documents `more` have it than the index knows of.
        """
        found = self._postings.get(term)
        count = len(found[0]) if found else 0
        return math.log(1 + len(self) / (count + more + 1))

    def search(
        self,
        wanted: Mapping[str, float],
        limit: int,
        parts: Sequence[Mapping[str, float]] = (),
        part_weight: float = 0.5,
        *,
        added: Mapping[K, Mapping[str, float]] | None = None,
        among: Collection[K] | None = None,
        also: Collection[K] = (),
    ) -> list[tuple[K, float]]:
        """The documents that have most of these weighted terms, best first; equals by their keys.

        To the score of all terms comes, so much weighed, the best one of the `parts` of them. What
        is `added` to documents counts in this search as if they had been put with it. Only those
        `among`, if given, come into question. Those of `also` that have any of the terms come
        behind the best.
        """
        gains = self._gains({*wanted, *chain.from_iterable(parts)}, added or {})
        scores = self._scores(wanted, gains)
        if parts:
            of_parts = [self._scores(x, gains) for x in parts]
            scores = _with_best(scores, of_parts, part_weight)
        if among is not None:
            scores = only(scores, self._numbers_of(among))
        return self._best(scores, limit, also)

    def _new_number(self, key: K) -> int:
        if self._free:
            number = self._free.pop()
            self._keys[number] = key
        else:
            number = len(self._keys)
            self._keys.append(key)
            self._terms.append(())
        self._numbers[key] = number
        return number

    def _gains(
        self, terms: Set[str], added: Mapping[K, Mapping[str, float]]
    ) -> dict[str, tuple[_Postings, int]]:
        """By term what its impact grows by in some documents, and how many did not have it."""
        more = defaultdict[str, dict[int, float]](dict)
        for key, weights in added.items():
            if (number := self._numbers.get(key)) is not None:
                for term in weights.keys() & terms:
                    more[term][number] = weights[term]
        return {term: self._gains_of(term, weights) for term, weights in more.items()}

    def _gains_of(self, term: str, more: Mapping[int, float]) -> tuple[_Postings, int]:
        documents, impacts = self._postings.get(term, _NOWHERE)
        gains = array("d")
        new = 0
        for number, weight in more.items():
            place = bisect_left(documents, number)
            has_it = place < len(documents) and documents[place] == number
            impact = impacts[place] if has_it else 0.0
            gains.append(_impact(_weight(impact) + weight) - impact)
            new += not has_it
        return (array("I", more), gains), new

    def _scores(
        self, wanted: Mapping[str, float], gains: Mapping[str, tuple[_Postings, int]]
    ) -> Any:
        """By number: a list of floats, or numpy's, with the same values, where that is faster."""
        counted: list[tuple[_Postings, float]] = []
        for term, weight in wanted.items():
            gained, new = gains.get(term, (_NOWHERE, 0))
            factor = weight * self.rarity(term, new)
            if term in self._postings:
                counted.append((self._postings[term], factor))
            if gained[0]:
                counted.append((gained, factor))
        numpy = numpy_if_there() if len(self) >= _LEAST_FOR_NUMPY else None
        if numpy:
            return _summed(numpy, counted, len(self._keys))
        scores = [0.0] * len(self._keys)
        for (documents, impacts), factor in counted:
            for number, impact in zip(documents, impacts, strict=True):
                scores[number] += factor * impact
        return scores

    def _numbers_of(self, keys: Iterable[K]) -> list[int]:
        return [self._numbers[x] for x in keys if x in self._numbers]

    def _best(self, scores: Any, limit: int, also: Collection[K]) -> list[tuple[K, float]]:
        numbers = {*highest(scores, limit), *(n for n in self._numbers_of(also) if scores[n] > 0)}
        found = [(self._keys[n], float(scores[n])) for n in numbers]
        ordered = sorted(cast(list[Any], found), key=lambda x: (-x[1], x[0]))
        return ordered[:limit] + [x for x in ordered[limit:] if x[0] in also]


def _summed(numpy: Any, counted: Sequence[tuple[_Postings, float]], size: int) -> Any:
    """The sums of all impacts by document; in one go, as most terms are in few documents."""
    numbers = numpy.frombuffer(b"".join(cast(Any, [x[0] for x, _ in counted])), "u4")
    impacts = numpy.frombuffer(b"".join(cast(Any, [x[1] for x, _ in counted])), "f8")
    factors = numpy.repeat([factor for _, factor in counted], [len(x[0]) for x, _ in counted])
    return numpy.bincount(numbers, factors * impacts, size)


def _impact(weight: float) -> float:
    """What a weight counts: the more there is, the less more of it says."""
    return weight * (1 + _SATURATION) / (weight + _SATURATION)


def _weight(impact: float) -> float:
    """Which weight counts so much."""
    return impact * _SATURATION / (1 + _SATURATION - impact)


def _with_best(scores: Any, parts: Sequence[Any], weight: float) -> Any:
    """The scores with the best one of the parts added."""
    if isinstance(scores, list):
        of_parts = zip(*parts, strict=True)
        return [x + weight * max(y) for x, y in zip(cast(Any, scores), of_parts, strict=True)]
    return scores + weight * numpy_if_there().maximum.reduce(parts)


def only(scores: Any, numbers: Sequence[int]) -> Any:
    """The scores of these numbers; all others are 0."""
    if isinstance(scores, list):
        kept: Any = [0.0] * len(cast(list[float], scores))
        for number in numbers:
            kept[number] = scores[number]
        return kept
    kept = numpy_if_there().zeros_like(scores)
    kept[numbers] = scores[numbers]
    return kept


def highest(scores: Any, limit: int) -> Sequence[int]:
    """The numbers of the highest scores above 0: so many, and those that equal the last of them.

    They are in a list or in one of numpy's arrays.
    """
    if isinstance(scores, list):
        listed = cast(list[float], scores)
        least = min(heapq.nlargest(limit, listed), default=0.0)
        return [n for n, score in enumerate(listed) if score >= least and score > 0]
    numpy = numpy_if_there()
    found = numpy.flatnonzero(scores > 0)  # most are 0, and many equals are slow to part
    if limit < len(found):
        of_found = scores[found]
        found = found[of_found >= numpy.partition(of_found, -limit)[-limit]]
    return found.tolist()


@cache
def numpy_if_there() -> Any:
    """numpy; None where it is not installed."""
    try:
        return importlib.import_module("numpy")
    except ImportError:
        return None
