"""Lexical similarity of texts: no key, no network, no model.

Words weigh by how rare they are among the texts at hand; parts of words count a
little too, so that `invoice` finds `invoices` and a slip of the pen is forgiven.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"\w+", re.UNICODE)
_PART_LENGTH = 3
# A whole word in common says much more than a syllable.
_PART_WEIGHT = 0.25
# Words that say nothing about what a note is about.
_EMPTY_TEXT = """
    a an and are as at be by did do does for from had has have i in is it its me my of on or our
    that the their them they this to was we were what when where which who will with you your
"""
_EMPTY_WORDS = frozenset(_EMPTY_TEXT.split())


def rank(query: str, texts: Sequence[str]) -> list[float]:
    """How alike each text is to the query, from 0 (nothing in common) to 1 (the same words)."""
    features = [_features(text) for text in texts]
    rarity = _rarity(features)
    wanted = _weighted(_features(query), rarity)
    return [_cosine(wanted, _weighted(x, rarity)) for x in features]


def _features(text: str) -> Counter[str]:
    words = [x for x in _WORD.findall(text.casefold()) if x not in _EMPTY_WORDS]
    return Counter([*words, *(part for word in words for part in _parts(word))])


def _parts(word: str) -> Iterable[str]:
    padded = f"^{word}$"
    return (f"~{padded[i : i + _PART_LENGTH]}" for i in range(len(padded) - _PART_LENGTH + 1))


def _rarity(features: Sequence[Counter[str]]) -> dict[str, float]:
    counts = Counter(name for x in features for name in x)
    return {name: math.log(1 + len(features) / count) for name, count in counts.items()}


def _weighted(features: Counter[str], rarity: dict[str, float]) -> dict[str, float]:
    usual = math.log(2)
    return {
        name: (_PART_WEIGHT if name.startswith("~") else 1.0)
        * (1 + math.log(count))
        * rarity.get(name, usual)
        for name, count in features.items()
    }


def _cosine(one: dict[str, float], other: dict[str, float]) -> float:
    shared = sum(weight * other[name] for name, weight in one.items() if name in other)
    lengths = math.hypot(*one.values()) * math.hypot(*other.values())
    return shared / lengths if lengths else 0.0
