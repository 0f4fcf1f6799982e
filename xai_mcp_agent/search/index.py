"""The lexical index: documents of weighted terms, ranked by BM25 and updated one by one.

BM25 over weights (https://doi.org/10.1561/1500000019, section 3.5). The caller weighs a document's
terms, its length included. So an entry never depends on other documents, and the same documents
score the same in whatever order they came.
"""

from __future__ import annotations

import heapq
import math
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence, Set
from itertools import chain, pairwise
from typing import Any, Generic, TypeAlias, TypeVar

from .terms import root, synonyms

K = TypeVar("K", bound=Hashable)

_SATURATION = 1.2  # how soon a further occurrence of a term adds nothing
# Weight of a related term; the word itself has 1.
_SYNONYM, _SAME_ROOT, _ROOT_INSTEAD, _COMPOUND = 0.2, 0.3, 0.5, 0.5

_Postings: TypeAlias = "tuple[array[int], array[float]]"
"""Document numbers in ascending order, and the impact of a term on each document."""
_NO_POSTINGS: _Postings = array("I"), array("d")


class LexicalIndex(Generic[K]):
    """Documents by key. Not thread-safe."""

    def __init__(self) -> None:
        self._numbers: dict[K, int] = {}
        self._keys: list[K | None] = []  # by number; None where a number is free
        self._free: list[int] = []
        self._terms: dict[K, tuple[str, ...]] = {}
        self._postings: dict[str, _Postings] = {}
        self._by_root: defaultdict[str, set[str]] = defaultdict(set)

    def __len__(self) -> int:
        return len(self._numbers)

    def put(self, key: K, weights: Mapping[str, float]) -> None:
        """Add or replace a document, in time proportional to its own length.

        A term that occurs once in a text of usual length weighs about 1.
        """
        self.remove(key)
        if not self._free:
            self._free.append(len(self._keys))
            self._keys.append(None)
        number = self._free.pop()
        self._numbers[key], self._keys[number], self._terms[key] = number, key, tuple(weights)
        for term, weight in weights.items():
            if term not in self._postings:
                self._postings[term] = array("I"), array("d")
                self._by_root[root(term)].add(term)
            documents, impacts = self._postings[term]
            place = bisect_left(documents, number)
            documents.insert(place, number)
            impacts.insert(place, _impact(weight))

    def remove(self, key: K) -> None:
        """Remove a document, if it is there."""
        if key not in self._numbers:
            return
        number = self._numbers.pop(key)
        self._keys[number] = None
        self._free.append(number)
        for term in self._terms.pop(key):
            documents, impacts = self._postings[term]
            place = bisect_left(documents, number)
            del documents[place], impacts[place]
            if not documents:
                del self._postings[term]
                self._by_root[root(term)].discard(term)

    def terms_of(self, key: K) -> Iterable[str]:
        """Return the terms of a document, or none if there is no such document."""
        return self._terms.get(key, ())

    def whole(self, query: Mapping[str, float]) -> float:
        """Return the score of a document of usual length that has each term of the query once."""
        return sum(weight * self.rarity(term) for term, weight in query.items())

    def expand(self, words: Sequence[str]) -> dict[str, float]:
        """Return a query for these words, with related terms at less weight.

        Related terms are synonyms, words of the same root, and two words written as one.
        """
        query = dict.fromkeys(words, 1.0)
        for word in words:
            related = dict.fromkeys(synonyms(word), _SYNONYM)
            # Sorted, because the sum of floats depends on their order.
            of_root = sorted(self._by_root.get(root(word), ()))
            weight = _SAME_ROOT if word in self._postings else _ROOT_INSTEAD
            related |= dict.fromkeys(of_root, weight)
            for term, weight in related.items():
                query[term] = max(query.get(term, 0.0), weight)
        for first, second in pairwise(words):
            if (compound := f"{first}{second}") in self._postings:
                query.setdefault(compound, _COMPOUND)
        return query

    def rarity(self, term: str, more: int = 0) -> float:
        """Return the weight of a term; the fewer documents have it, the more it weighs.

        `more` documents have it besides the indexed ones.
        """
        documents, _ = self._postings.get(term, _NO_POSTINGS)
        return math.log(1 + len(self) / (len(documents) + more + 1))

    def search(
        self,
        query: Mapping[str, float],
        limit: int,
        parts: Sequence[Mapping[str, float]] = (),
        part_weight: float = 0.5,
        *,
        extra_terms: Mapping[K, Mapping[str, float]] | None = None,
        among: Collection[K] | None = None,
        also: Collection[K] = (),
    ) -> list[tuple[K, float]]:
        """Return the documents that score best for these weighted terms, equals by their keys.

        The score of the best of the `parts` is added at `part_weight`. The `extra_terms` of
        documents count in this search as their own. `among` limits the search to these documents.
        Documents of `also` that have any of the terms follow after the best.
        """
        gains, new = self._gains({*query, *chain.from_iterable(parts)}, extra_terms or {})
        scores = self._scores(query, gains, new)
        if parts:
            of_parts = [self._scores(x, gains, new) for x in parts]
            best = map(max, *of_parts) if len(parts) > 1 else of_parts[0]
            scores = [x + part_weight * y for x, y in zip(scores, best, strict=True)]
        numbers = range(len(scores)) if among is None else self._numbers_of(among)
        return self._best([x for x in numbers if scores[x] > 0], scores, limit, also)

    def _numbers_of(self, keys: Iterable[K]) -> list[int]:
        return [self._numbers[x] for x in keys if x in self._numbers]

    def _gains(
        self, terms: Set[str], extra_terms: Mapping[K, Mapping[str, float]]
    ) -> tuple[dict[str, dict[int, float]], Counter[str]]:
        """Return the impact that extra terms gain in documents, and in how many they are new."""
        gains = defaultdict[str, dict[int, float]](dict)
        new = Counter[str]()
        for key, weights in extra_terms.items():
            if (number := self._numbers.get(key)) is None:
                continue
            for term in weights.keys() & terms:
                documents, impacts = self._postings.get(term, _NO_POSTINGS)
                place = bisect_left(documents, number)
                has_term = place < len(documents) and documents[place] == number
                impact = impacts[place] if has_term else 0.0
                gains[term][number] = _impact(_weight(impact) + weights[term]) - impact
                new[term] += not has_term
        return gains, new

    def _scores(
        self,
        query: Mapping[str, float],
        gains: Mapping[str, Mapping[int, float]],
        new: Mapping[str, int],
    ) -> list[float]:
        """Return the scores by document number."""
        scores = [0.0] * len(self._keys)
        for term, weight in query.items():
            factor = weight * self.rarity(term, new.get(term, 0))
            documents, impacts = self._postings.get(term, _NO_POSTINGS)
            for number, impact in zip(documents, impacts, strict=True):
                scores[number] += factor * impact
            for number, gain in gains.get(term, {}).items():
                scores[number] += factor * gain
        return scores

    def _best(
        self, numbers: Sequence[int], scores: Sequence[float], limit: int, also: Collection[K]
    ) -> list[tuple[K, float]]:
        least = min(heapq.nlargest(limit, map(scores.__getitem__, numbers)), default=math.inf)
        best = [(self._key(x), scores[x]) for x in numbers if scores[x] >= least]
        best.sort(key=lambda x: (-x[1], x[0]))
        best_keys = {key for key, _ in best[:limit]}
        others = {*self._numbers_of(x for x in also if x not in best_keys)}.intersection(numbers)
        return best[:limit] + [(self._key(x), scores[x]) for x in others]

    def _key(self, number: int) -> Any:
        return self._keys[number]


def _impact(weight: float) -> float:
    """Return the impact of a weight: each further occurrence adds less."""
    return weight * (1 + _SATURATION) / (weight + _SATURATION)


def _weight(impact: float) -> float:
    """Return the weight that has this impact."""
    return impact * _SATURATION / (1 + _SATURATION - impact)
