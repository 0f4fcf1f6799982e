"""Which tools say a word in what they give, or in what they take: kept up to date one by one.

Of a tool little more is held than the numbers of its words. Its ports are read when they are asked
for, and those that were asked for last are kept.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..core.json import JsonObject
from ..core.tools import Tool
from ..search.terms import root
from ..search.tools import key_of
from .ports import Input, Output, ToolPorts, is_generic, ports_of

_KEPT_PORTS = 6_000
# A word that more tools say tells nothing, and takes long to look through.
_TOO_MANY = 4_000


class PortIndex:
    """Tools by key and by words. Not for several threads at once."""

    def __init__(self) -> None:
        self._tools: dict[Any, Tool | JsonObject] = {}
        self._numbers: dict[Any, int] = {}
        self._keys: dict[int, Any] = {}
        self._next = 0
        self._kept: OrderedDict[Any, ToolPorts] = OrderedDict()
        self._counts = Counter[str]()  # of tools whose ports say a word
        self._giving: dict[str, array[int]] = {}
        self._taking: dict[str, array[int]] = {}

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, key: object) -> bool:
        return key in self._tools

    def __iter__(self) -> Iterator[Any]:
        return iter(self._tools)

    def put(self, tool: Tool | JsonObject) -> ToolPorts:
        """Add a tool, or replace the one that has its key; gives its ports."""
        key = key_of(tool)
        self.remove(key)
        number, self._next = self._next, self._next + 1
        self._tools[key], self._numbers[key], self._keys[number] = tool, number, key
        ports = self.ports(key)
        self._counts.update(_words_of(ports))
        for words, index in (
            (given_roots(ports), self._giving),
            (taken_roots(ports), self._taking),
        ):
            for x in words:
                index.setdefault(x, array("I")).append(number)
        return ports

    def remove(self, key: Any) -> ToolPorts | None:
        """Forget a tool, if it is there; gives the ports that it had."""
        if key not in self._tools:
            return None
        ports = self.ports(key)
        number = self._numbers.pop(key)
        del self._tools[key], self._keys[number], self._kept[key]
        self._counts -= Counter(_words_of(ports))
        for words, index in (
            (given_roots(ports), self._giving),
            (taken_roots(ports), self._taking),
        ):
            for x in words:
                _discard(index, x, number)
        return ports

    def ports(self, key: Any) -> ToolPorts:
        """What goes into a tool and comes out of it.

        Raises:
            KeyError: there is no such tool.
        """
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = ports_of(self._tools[key])
            if len(self._kept) > _KEPT_PORTS:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        return found

    def rarity(self, word: str) -> float:
        """How much it says that the ports of a tool have this word; the rarest say most."""
        return math.log(1 + len(self._tools) / (self._counts.get(word, 0) + 1))

    def givers(self, words: Iterable[str], most: int) -> list[Any]:
        """The tools whose outputs have most of these words, the rare ones first."""
        return self._best({root(x): self.rarity(x) for x in words}, self._giving, most)

    def takers(self, words: Iterable[str], most: int) -> list[Any]:
        """The tools whose inputs have most of these words, the rare ones first."""
        return self._best({root(x): self.rarity(x) for x in words}, self._taking, most)

    def _best(
        self, weights: Mapping[str, float], index: Mapping[str, array[int]], most: int
    ) -> list[Any]:
        scores: dict[int, float] = {}
        for word in sorted(weights):
            numbers = index.get(word, ())
            for number in numbers if len(numbers) <= _TOO_MANY else ():
                scores[number] = scores.get(number, 0.0) + weights[word]
        best = sorted(scores, key=lambda x: (-scores[x], str(self._keys[x])))
        return [self._keys[x] for x in best[:most]]


def given_roots(ports: ToolPorts) -> set[str]:
    """The roots of what names what a tool gives."""
    found = set(ports.name_words)
    for one in ports.outputs:
        found.update(one.words, type_words(one))
        found.update(one.context)
        if one.is_implied:
            found.update(one.about)
    return {root(x) for x in found}


def type_words(port: Input | Output) -> set[str]:
    """The types that a port declares, as words that no text has."""
    return {f"<{x}>" for x in port.types}


def taken_roots(ports: ToolPorts) -> set[str]:
    """The roots of what names what a tool takes."""
    found: set[str] = set()
    for one in ports.inputs:
        specific = [x for x in one.words if not is_generic(x)]
        found.update(specific or (ports.entity if one.is_opaque else one.words))
        found.update(type_words(one))
    return {root(x) for x in found}


def _words_of(ports: ToolPorts) -> set[str]:
    found = set(ports.name_words)
    for one in (*ports.inputs, *ports.outputs):
        found.update(one.words, type_words(one))
    return found


def _discard(index: dict[str, array[int]], word: str, number: int) -> None:
    numbers = index[word]
    place = bisect_left(numbers, number)  # they only ever rise
    del numbers[place]
    if not numbers:
        del index[word]
