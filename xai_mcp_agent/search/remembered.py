"""What tools were used for before, as a search counts it, and how like a new request it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..core.tools import ToolKey
from .terms import root
from .tools import remembered_terms

# Of what the shorter one of two requests says, as its rarer words say more.
_SIMILAR = 0.5


@dataclass(frozen=True, slots=True)
class Intent:
    """What somebody asked for when a tool was used: the terms of the words, each as often as there.

    It was so `uses` times. `weight` is what is left of it by now, from 1 down to 0.
    """

    terms: Mapping[str, float]
    uses: int = 1
    weight: float = 1.0


class Remembered(Mapping[ToolKey, Mapping[str, float]]):
    """What tools were used for in one toolbelt: by their keys the terms, and what each counts.

    A search takes it as it is; see `ToolIndex.search`.
    """

    def __init__(self, intents: Mapping[ToolKey, Sequence[Intent]]) -> None:
        self._intents = intents
        self._terms = {key: _joined(found) for key, found in intents.items()}

    def __getitem__(self, key: ToolKey) -> Mapping[str, float]:
        return self._terms[key]

    def __iter__(self) -> Iterator[ToolKey]:
        return iter(self._terms)

    def __len__(self) -> int:
        return len(self._terms)

    def uses_like(self, key: ToolKey, words: Iterable[str], rarity: Callable[[str], float]) -> int:
        """How often a tool was used for something like this.

        Two requests are alike that share half of what the shorter one says, where a word says as
        much as it is rare: sharing "list" and "file" is no likeness, sharing "invoice" may be one.
        """
        wanted = _by_root(words, rarity)
        said = ((x.uses, _by_root(x.terms, rarity)) for x in self._intents.get(key, ()))
        return sum(uses for uses, weights in said if _are_alike(wanted, weights))


NOTHING_REMEMBERED = Remembered({})


def _joined(intents: Sequence[Intent]) -> dict[str, float]:
    counts = defaultdict[str, float](float)
    for intent in intents:
        for term, count in intent.terms.items():
            counts[term] += count * intent.weight
    return remembered_terms(counts)


def _by_root(words: Iterable[str], rarity: Callable[[str], float]) -> dict[str, float]:
    return {root(word): rarity(word) for word in words}


def _are_alike(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    shared = sum(min(one[x], other[x]) for x in one.keys() & other.keys())
    shorter = min(sum(one.values()), sum(other.values()))
    return 0 < shorter * _SIMILAR <= shared
