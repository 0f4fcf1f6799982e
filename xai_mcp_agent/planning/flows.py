"""Which output of a tool fits which input of another, how well, by which conversion, and why.

Names say most: an id that is wanted is looked for where the thing is that it identifies, in what is
called so or lists such things. Rare words say more. An input looks only at tools that share a word
with what names it, which an index of words tells: a few milliseconds among thousands of tools.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ..core.json import JsonObject
from ..core.tools import Tool
from ..search.terms import root
from ..search.tools import key_of
from .schema_ports import ID_WORDS, Input, Output, ToolPorts, fit, is_generic, listed, ports_of

LEAST = 0.3
"""Below this two ports have nothing to do with each other."""
NUMBERS = ("integer", "number")
_SHAPE_ALONE = 0.15  # how much of a score the shape has without any word: types alone say little
_SAYS_HOW_IT_WENT = listed("status success message error ok confirmation")
_HOW_IT_WENT = 0.35  # how much less that is wanted than what was asked for
_OF_A_WRITER = 0.7  # what a tool gives that changes something, and does not say what it gives
_ID_FOR_AMOUNT = 0.5  # an id is a number only by chance
_OPTIONAL = 0.6
_MOST_TOOLS = 40  # that are looked at for one input, or one tool
_TOO_MANY = 4_000  # tools that say a word: it tells nothing, and takes long to look through
# What a word of an input's name counts by where it is found: in the output's own name, above it, in
# what the producer is about, in the words about the output, in those about the producer.
_PLACES = (1.0, 0.85, 0.7, 0.5, 0.35)
_NOT_AN_ID, _RECORD, _ID_FOR_ANOTHER, _LOOKED_AT = 0.45, 0.95, 0.6, 0.6
_STRANGE = 0.4  # how much words weigh against an output that nobody wants
# Where a name such as `text` or `data` says nothing: of nothing known, half the name, the same
# name, the same format, a description that says what is there.
_UNTOLD, _LIKE_NAMED, _SAME_NAME, _SAME_FORMAT, _DESCRIBED = 0.2, 0.5, 0.6, 0.75, 0.5

Rarity = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Flow:
    """What one tool gives may be taken by another: `field` of `producer` as `parameter`.

    `field` is a path in the result such as `orders[].id`, "" for all of it. `score` is 0 to 1,
    `fit` what the shapes alone say; `conversion` tells what has to be done to the value.
    """

    producer: Any
    field: str
    consumer: Any
    parameter: str
    score: float
    fit: float
    conversion: str
    reasons: tuple[str, ...]


class Flows:
    """What flows between tools, by their keys. Not for several threads at once."""

    def __init__(self) -> None:
        self._ports: dict[Any, ToolPorts] = {}
        self._counts = Counter[str]()  # of tools whose ports say a word
        self._giving: dict[str, set[Any]] = {}  # the tools, by roots of what they give
        self._taking: dict[str, set[Any]] = {}
        self._producers: dict[tuple[Any, str], tuple[Flow, ...]] = {}

    def __len__(self) -> int:
        return len(self._ports)

    def __contains__(self, key: object) -> bool:
        return key in self._ports

    def __iter__(self) -> Iterator[Any]:
        return iter(self._ports)

    def put(self, tool: Tool | JsonObject) -> ToolPorts:
        """Add a tool, or replace the one that has its key; gives its ports."""
        key = key_of(tool)
        self.remove(key)
        ports = self._ports[key] = ports_of(tool)
        self._counts.update(_words_of(ports))
        for words, index in self._indexes(ports):
            for x in words:
                index.setdefault(x, set()).add(key)
        return ports

    def remove(self, key: Any) -> ToolPorts | None:
        """Forget a tool, if it is there; gives the ports that it had."""
        self._producers.clear()
        if (ports := self._ports.pop(key, None)) is None:
            return None
        self._counts.subtract(_words_of(ports))
        for words, index in self._indexes(ports):
            for x in words:
                index[x].discard(key)
        return ports

    def ports(self, key: Any) -> ToolPorts:
        """What goes into a tool and comes out of it.

        Raises:
            KeyError: there is no such tool.
        """
        return self._ports[key]

    def rarity(self, word: str) -> float:
        """How much it says that the ports of a tool have this word; the rarest say most."""
        return math.log(1 + len(self._ports) / (self._counts[word] + 1))

    def said_share(self, words: Iterable[str], roots: frozenset[str]) -> float:
        """How much of some words is said, by their roots; rare ones count more."""
        rarities = {x: self.rarity(x) for x in sorted({*words})}
        whole = sum(rarities.values())
        return sum(y for x, y in rarities.items() if root(x) in roots) / whole if whole else 0.0

    def producers(self, consumer: ToolPorts, inp: Input) -> tuple[Flow, ...]:
        """The tools whose output serves an input, the best first: one flow of each tool.

        None of those that need the same themselves.
        """
        asked = (consumer.key, inp.name)
        if asked not in self._producers:
            self._producers[asked] = tuple(_ordered(self._flows_into(consumer, inp)))
        return self._producers[asked]

    def into(self, consumer: ToolPorts) -> list[Flow]:
        """What may fill the parameters of a tool, the best first; less where none is needed."""
        found = (_weighed(x, inp) for inp in consumer.inputs for x in self.producers(consumer, inp))
        return _ordered(x for x in found if x.score >= LEAST)

    def consumers(self, producer: ToolPorts) -> list[Flow]:
        """The tools that take what a tool gives, the best first: one flow of each tool."""
        near = self._nearest(given_roots(producer), self._taking)
        found = (self.between(producer.key, key) for key in near if key != producer.key)
        return _ordered(x for x in found if x)

    def between(self, producer: Any, consumer: Any) -> Flow | None:
        """The best flow from one tool to another, rather into what it needs than else."""
        giving, taking = self.ports(producer), self.ports(consumer)
        found = ((x, self.best(giving, taking, x)) for x in taking.inputs)
        weighed = (_weighed(flow, inp) for inp, flow in found if flow)
        best = max(weighed, key=lambda x: x.score, default=None)
        return best if best and best.score >= LEAST else None

    def best(self, producer: ToolPorts, consumer: ToolPorts, inp: Input) -> Flow | None:
        """The output of one tool that serves an input best."""
        found = (self.flow(producer, x, consumer, inp) for x in producer.outputs)
        return max((x for x in found if x), key=lambda x: x.score, default=None)

    def flow(
        self, producer: ToolPorts, out: Output, consumer: ToolPorts, inp: Input
    ) -> Flow | None:
        """From one output into one input; None where the shapes do not allow it."""
        fitting = fit(out.shape, inp.shape)
        if fitting.score <= 0:
            return None
        if declared := out.shape.type_uris & inp.shape.type_uris:
            near, reason = 1.0, f"both are declared as {min(declared)}"
        else:
            near, reason = max(
                _affinity(producer, out, consumer, inp, self.rarity),
                _looked_at(producer, out, consumer, inp),
                key=lambda x: x[0],
            )
        score = fitting.score * (_SHAPE_ALONE + (1 - _SHAPE_ALONE) * near)
        if not declared:
            score *= _doubt(producer, out, inp, is_named=bool(reason))
        return Flow(
            producer.key, out.path, consumer.key, inp.name, score, fitting.score,
            fitting.conversion, (reason,) if reason else (),
        )  # fmt: skip

    def _flows_into(self, consumer: ToolPorts, inp: Input) -> Iterable[Flow]:
        words = {root(x) for x in looked_for(consumer, inp)}
        for key in self._nearest(words, self._giving):
            producer = self.ports(key)
            same = producer.by_name.get(inp.name)
            if key == consumer.key or (same and same.is_required):
                continue
            flow = self.best(producer, consumer, inp)
            if flow and flow.score >= LEAST:
                yield flow

    def _indexes(self, ports: ToolPorts) -> tuple[tuple[set[str], dict[str, set[Any]]], ...]:
        return (given_roots(ports), self._giving), (_taken_roots(ports), self._taking)

    def _nearest(self, words: Iterable[str], index: Mapping[str, set[Any]]) -> list[Any]:
        """The tools that have most of these words, the rare ones first."""
        scores: dict[Any, float] = {}
        for word in sorted(words):
            keys = index.get(word, ())
            rarity = self.rarity(word)
            for key in keys if len(keys) <= _TOO_MANY else ():
                scores[key] = scores.get(key, 0.0) + rarity
        return sorted(scores, key=lambda x: (-scores[x], str(x)))[: _MOST_TOOLS + 1]


def looked_for(consumer: ToolPorts, inp: Input) -> list[str]:
    """The words by which the tools are found that may give an input."""
    found = {x for x in inp.words if x not in ID_WORDS}
    if inp.is_opaque:
        found |= {x for x in (*inp.about, *consumer.entity) if not is_generic(x)}
    return sorted((found or {*inp.words}) | _type_words(inp))


def given_roots(ports: ToolPorts) -> set[str]:
    """The roots of what names what a tool gives."""
    found = set(ports.name_words)
    for one in ports.outputs:
        found.update(one.words, _type_words(one), one.context, one.about if one.is_implied else ())
    return {root(x) for x in found}


def _taken_roots(ports: ToolPorts) -> set[str]:
    """The roots of what names what a tool takes."""
    found: set[str] = set()
    for one in ports.inputs:
        specific = [x for x in one.words if not is_generic(x)]
        found.update(specific or (ports.entity if one.is_opaque else one.words), _type_words(one))
    return {root(x) for x in found}


def _words_of(ports: ToolPorts) -> set[str]:
    found = set(ports.name_words)
    for one in (*ports.inputs, *ports.outputs):
        found.update(one.words, _type_words(one))
    return found


def _type_words(port: Input | Output) -> set[str]:
    """The types that a port declares, as words that no text has."""
    return {f"<{x}>" for x in port.shape.type_uris}


def _affinity(
    producer: ToolPorts, out: Output, consumer: ToolPorts, inp: Input, rarity: Rarity
) -> tuple[float, str]:
    """How much an output and an input have to do with each other by their names, and why."""
    is_vague = all(is_generic(x) for x in inp.words if x not in ID_WORDS)
    if inp.words == out.words and not is_vague and not out.is_implied:
        return 1.0, f"both are called {inp.name}"
    wanted = _specific(inp.words) or (_specific(sorted(consumer.entity)) if inp.is_opaque else [])
    if not wanted:
        return _of_vague_names(out, inp), ""
    places = _places((out.words, out.context, producer.entity, out.about, producer.about))
    rarities = {x: rarity(x) for x in wanted}
    credit = sum(y * places.get(root(x), 0.0) for x, y in rarities.items())
    score = credit / (sum(rarities.values()) or 1.0)
    if inp.is_opaque:
        score *= _RECORD if out.is_record else 1.0 if out.is_opaque else _NOT_AN_ID
    elif out.is_opaque:
        score *= _ID_FOR_ANOTHER
    known = {*inp.words, *inp.about, *producer.entity}
    strange = [x for x in out.words if x not in known and not is_generic(x)]
    score *= 1 - _STRANGE * len(strange) / (len(out.words) or 1)
    shared = [x for x in wanted if places.get(root(x))]
    return score, f"about the same: {', '.join(shared[:3])}" if shared else ""


def _looked_at(
    producer: ToolPorts, out: Output, consumer: ToolPorts, inp: Input
) -> tuple[float, str]:
    """What is changed is looked at first: the ids of what is in it are found there."""
    about = _specific(sorted(producer.entity))
    is_found_there = inp.is_opaque and out.is_record and producer.looks_up
    if not is_found_there or not about or not consumer.entity.issuperset(about):
        return 0.0, ""
    return _LOOKED_AT, f"both are about the {', '.join(about[:3])}"


def _specific(words: Iterable[str]) -> list[str]:
    """The words that say what is meant."""
    return [x for x in words if x not in ID_WORDS and not is_generic(x)]


def _of_vague_names(out: Output, inp: Input) -> float:
    score = _UNTOLD
    if inp.shape.format and inp.shape.format == out.shape.format:
        score = _SAME_FORMAT
    if {*inp.words} & {*out.words}:
        score = max(score, _SAME_NAME if inp.words == out.words else _LIKE_NAMED)
    said = {root(x) for x in inp.about if not is_generic(x)}
    own = {root(x) for x in (*out.words, *out.context) if not is_generic(x)}
    return max(score, _DESCRIBED) if said & own else score


@lru_cache(maxsize=2_000)  # each output is compared with many inputs
def _places(said: tuple[Iterable[str], ...]) -> Mapping[str, float]:
    """What a root counts by where an output and its tool say it."""
    found: dict[str, float] = {}
    for words, credit in zip(said, _PLACES, strict=True):
        for x in words:
            found.setdefault(root(x), credit)
    return found


def _doubt(producer: ToolPorts, out: Output, inp: Input, *, is_named: bool) -> float:
    """How much less a flow counts because of what its output is."""
    doubt = 1.0
    if _SAYS_HOW_IT_WENT & {*out.words} and not {*out.words} & {*inp.words}:
        doubt *= _HOW_IT_WENT
    if out.is_implied and not producer.reads:
        doubt *= _OF_A_WRITER
    is_amount = bool({*NUMBERS} & {*inp.shape.kinds}) and not inp.is_opaque
    if out.is_opaque and is_amount and not is_named:
        doubt *= _ID_FOR_AMOUNT
    return doubt


def _weighed(flow: Flow, inp: Input) -> Flow:
    return flow if inp.is_required else replace(flow, score=flow.score * _OPTIONAL)


def _ordered(flows: Iterable[Flow]) -> list[Flow]:
    return sorted(flows, key=lambda x: (-x.score, str(x.producer), str(x.consumer)))
