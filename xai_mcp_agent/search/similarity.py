"""Lexical similarity: an index of texts, asked in milliseconds. No key, no network, no model.

Words weigh by how rare they are among the texts (BM25). Who makes the terms of a text weighs them:
`terms_of` takes words, and parts of words at a little of their weight.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import defaultdict
from collections.abc import Mapping

_WORD = re.compile(r"\w+", re.UNICODE)
_PART_LENGTH = 3
# A whole word in common says much more than a syllable.
_PART_WEIGHT = 0.25
# Words that say nothing about what a text is about.
_EMPTY_TEXT = """
    a an and are as at be by did do does for from had has have i in is it its me my of on or our
    that the their them they this to was we were what when where which who will with you your
"""
_EMPTY_WORDS = frozenset(_EMPTY_TEXT.split())
# How soon a word that is repeated counts no more, and how much the length of a text takes.
_SATURATION = 1.2
_LENGTH_SHARE = 0.5


def terms_of(text: str) -> dict[str, float]:
    """The words of a text with their weights, and their parts.

    So `invoice` finds `invoices`, and a slip of the pen is forgiven.
    """
    terms: dict[str, float] = defaultdict(float)
    for word in _WORD.findall(text.casefold()):
        if word not in _EMPTY_WORDS:
            terms[word] += 1.0
            padded = f"^{word}$"
            for start in range(len(padded) - _PART_LENGTH + 1):
                terms[f"~{padded[start : start + _PART_LENGTH]}"] += _PART_WEIGHT
    return terms


class SimilarityIndex:
    """Texts as weighted terms, by number in the order in which they were added."""

    def __init__(self) -> None:
        self._postings: dict[str, tuple[array[int], array[float]]] = {}
        self._lengths: list[float] = []
        self._whole_length = 0.0

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, terms: Mapping[str, float]) -> None:
        """One more text. Takes time by its own length, however many there are."""
        number, length = len(self._lengths), sum(terms.values())
        for term, weight in terms.items():
            numbers, weights = self._postings.setdefault(term, (array("I"), array("d")))
            numbers.append(number)
            weights.append(weight)
        self._lengths.append(length)
        self._whole_length += length

    def similar(self, wanted: Mapping[str, float]) -> dict[int, float]:
        """How much of what is wanted each text has, by number; only those that have anything.

        0 is nothing; one that has all of it once is near 1, and may be above.
        """
        scores: dict[int, float] = defaultdict(float)
        whole = 0.0
        per_length = _LENGTH_SHARE * len(self) / (self._whole_length or 1.0)
        for term, weight in wanted.items():
            numbers, weights = self._postings.get(term, ((), ()))
            rarity = weight * math.log(1 + len(self) / (len(numbers) + 1))
            whole += weight * rarity
            for number, held in zip(numbers, weights, strict=True):
                length = 1 - _LENGTH_SHARE + per_length * self._lengths[number]
                scores[number] += rarity * held * (1 + _SATURATION) / (held + _SATURATION * length)
        return {number: score / whole for number, score in scores.items()} if whole else {}
