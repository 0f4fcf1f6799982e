"""Flows: which output of a tool fits which input of another, how well, and why.

Names count most: an id flows from an output with the name of the thing that it identifies, or from
a list of such things. Rare words count more. An index finds the tools that share a word with an
input; only these are compared, so it takes a few milliseconds among thousands of tools.
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
from .schema_ports import Input, Output, ToolPorts, ports_of
from .shapes import fit
from .vocabulary import ID_WORDS, is_generic, word_set

_LEAST = 0.3  # below this score two ports are unrelated
_SHAPE_ALONE = 0.15  # part of the score that shapes give without words: types alone say little
_STATUS_WORDS = word_set("status success message error ok confirmation")
_STATUS_ONLY = 0.35  # penalty for an output that only reports success or failure
_WRITER = 0.7  # penalty for the undeclared result of a tool that changes something
_ID_FOR_AMOUNT = 0.5  # penalty: an id is a number only by chance
_OPTIONAL = 0.6
_MOST_TOOLS = 40  # candidates compared with one input or one tool
_TOO_MANY = 4_000  # a word in more tools than this is too common to search by
# Weights of a word of the input's name by its place: the output's own name, the names above it, the
# producer's subject, the output's description, the producer's description.
_PLACES = (1.0, 0.85, 0.7, 0.5, 0.35)
_NOT_AN_ID, _RECORD, _ID_FOR_VALUE, _SAME_SUBJECT = 0.45, 0.95, 0.6, 0.6
_FOREIGN = 0.4  # penalty for an output whose words the input does not have
# Scores for names such as `text` or `data`, which say nothing: no hint, half the name, the same
# name, the same format, a fitting description.
_NO_HINT, _HALF_NAME, _SAME_NAME, _SAME_FORMAT, _DESCRIBED = 0.2, 0.5, 0.6, 0.75, 0.5

Rarity = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Flow:
    """Flow of a value between tools: `field` of `producer` as `parameter`.

    `field` is a path in the result such as `orders[].id`, "" for all of it. `score` is 0 to 1,
    `fit` is the score of the shapes alone; `conversion` says how the value must change.
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
    """Flows between tools, by their keys. Not thread-safe."""

    def __init__(self) -> None:
        self._ports: dict[Any, ToolPorts] = {}
        self._counts = Counter[str]()  # number of tools whose ports have a word
        self._by_output: dict[str, set[Any]] = {}  # tools by the roots of their outputs
        self._by_input: dict[str, set[Any]] = {}
        self._producers: dict[tuple[Any, str], tuple[Flow, ...]] = {}

    def __len__(self) -> int:
        return len(self._ports)

    def __contains__(self, key: object) -> bool:
        return key in self._ports

    def __iter__(self) -> Iterator[Any]:
        return iter(self._ports)

    def put(self, tool: Tool | JsonObject) -> ToolPorts:
        """Add a tool, or replace the one with its key; return its ports."""
        key = key_of(tool)
        self.remove(key)
        ports = self._ports[key] = ports_of(tool)
        self._counts.update(_words_of(ports))
        for words, index in self._indexes(ports):
            for x in words:
                index.setdefault(x, set()).add(key)
        return ports

    def remove(self, key: Any) -> ToolPorts | None:
        """Remove a tool if it exists; return its ports."""
        self._producers.clear()
        if (ports := self._ports.pop(key, None)) is None:
            return None
        self._counts.subtract(_words_of(ports))
        for words, index in self._indexes(ports):
            for x in words:
                index[x].discard(key)
        return ports

    def ports(self, key: Any) -> ToolPorts:
        """Return the inputs and outputs of a tool.

        Raises:
            KeyError: there is no such tool.
        """
        return self._ports[key]

    def rarity(self, word: str) -> float:
        """Return the weight of a word; the rarest weigh most."""
        return math.log(1 + len(self._ports) / (self._counts[word] + 1))

    def covered_share(self, words: Iterable[str], roots: frozenset[str]) -> float:
        """Return the weighted share of some words that is covered, by roots."""
        rarities = {x: self.rarity(x) for x in sorted({*words})}
        whole = sum(rarities.values())
        return sum(y for x, y in rarities.items() if root(x) in roots) / whole if whole else 0.0

    def producers(self, consumer: ToolPorts, inp: Input) -> tuple[Flow, ...]:
        """Return the best flow from each tool into an input, the best first.

        It omits tools that need the same input themselves.
        """
        key = (consumer.key, inp.name)
        if key not in self._producers:
            self._producers[key] = tuple(_order(self._flows_into(consumer, inp)))
        return self._producers[key]

    def into(self, consumer: ToolPorts) -> list[Flow]:
        """Return flows into the parameters of a tool, the best first; optional ones count less."""
        flows = (_weigh(x, inp) for inp in consumer.inputs for x in self.producers(consumer, inp))
        return _order(x for x in flows if x.score >= _LEAST)

    def consumers(self, producer: ToolPorts) -> list[Flow]:
        """Return the best flow from a tool into each other tool, the best first."""
        near = self._nearest(_output_roots(producer), self._by_input)
        flows = (self.between(producer.key, key) for key in near if key != producer.key)
        return _order(x for x in flows if x)

    def between(self, producer: Any, consumer: Any) -> Flow | None:
        """Return the best flow from one tool to another, preferring required parameters."""
        source, target = self.ports(producer), self.ports(consumer)
        pairs = ((x, self.best(source, target, x)) for x in target.inputs)
        flows = (_weigh(flow, inp) for inp, flow in pairs if flow)
        best = max(flows, key=lambda x: x.score, default=None)
        return best if best and best.score >= _LEAST else None

    def best(self, producer: ToolPorts, consumer: ToolPorts, inp: Input) -> Flow | None:
        """Return the best flow from the outputs of one tool into an input."""
        flows = (self.flow(producer, x, consumer, inp) for x in producer.outputs)
        return max((x for x in flows if x), key=lambda x: x.score, default=None)

    def flow(
        self, producer: ToolPorts, out: Output, consumer: ToolPorts, inp: Input
    ) -> Flow | None:
        """Return the flow from one output into one input, or None if the shapes do not fit."""
        fitting = fit(out.shape, inp.shape)
        if fitting.score <= 0:
            return None
        if types := out.shape.type_uris & inp.shape.type_uris:
            near, reason = 1.0, f"both are declared as {min(types)}"
        else:
            near, reason = max(
                _affinity(producer, out, consumer, inp, self.rarity),
                _same_subject(producer, out, consumer, inp),
                key=lambda x: x[0],
            )
        score = fitting.score * (_SHAPE_ALONE + (1 - _SHAPE_ALONE) * near)
        if not types:
            score *= _doubt(producer, out, inp, is_named=bool(reason))
        return Flow(
            producer.key, out.path, consumer.key, inp.name, score, fitting.score,
            fitting.conversion, (reason,) if reason else (),
        )  # fmt: skip

    def _flows_into(self, consumer: ToolPorts, inp: Input) -> Iterable[Flow]:
        words = {root(x) for x in _search_words(consumer, inp)}
        for key in self._nearest(words, self._by_output):
            producer = self.ports(key)
            same = producer.by_name.get(inp.name)
            if key == consumer.key or (same and same.is_required):
                continue
            flow = self.best(producer, consumer, inp)
            if flow and flow.score >= _LEAST:
                yield flow

    def _indexes(self, ports: ToolPorts) -> tuple[tuple[set[str], dict[str, set[Any]]], ...]:
        return (_output_roots(ports), self._by_output), (_input_roots(ports), self._by_input)

    def _nearest(self, words: Iterable[str], index: Mapping[str, set[Any]]) -> list[Any]:
        """Return the tools with most of these words, rare words first."""
        scores: dict[Any, float] = {}
        for word in sorted(words):
            keys = index.get(word, ())
            rarity = self.rarity(word)
            for key in keys if len(keys) <= _TOO_MANY else ():
                scores[key] = scores.get(key, 0.0) + rarity
        return sorted(scores, key=lambda x: (-scores[x], str(x)))[: _MOST_TOOLS + 1]


def _search_words(consumer: ToolPorts, inp: Input) -> list[str]:
    """Return the words by which an input's suppliers are searched."""
    words = {x for x in inp.words if x not in ID_WORDS}
    if inp.is_opaque:
        words |= {x for x in (*inp.about, *consumer.entity) if not is_generic(x)}
    return sorted((words or {*inp.words}) | _type_words(inp))


def _output_roots(ports: ToolPorts) -> set[str]:
    """Return the roots of the names of a tool's outputs."""
    roots = set(ports.name_words)
    for one in ports.outputs:
        roots.update(one.words, _type_words(one), one.context, one.about if one.is_implied else ())
    return {root(x) for x in roots}


def _input_roots(ports: ToolPorts) -> set[str]:
    """Return the roots of the names of a tool's inputs."""
    roots: set[str] = set()
    for one in ports.inputs:
        specific = [x for x in one.words if not is_generic(x)]
        roots.update(specific or (ports.entity if one.is_opaque else one.words), _type_words(one))
    return {root(x) for x in roots}


def _words_of(ports: ToolPorts) -> set[str]:
    words = set(ports.name_words)
    for one in (*ports.inputs, *ports.outputs):
        words.update(one.words, _type_words(one))
    return words


def _type_words(port: Input | Output) -> set[str]:
    """Return the declared types of a port, as words that occur in no text."""
    return {f"<{x}>" for x in port.shape.type_uris}


def _affinity(
    producer: ToolPorts, out: Output, consumer: ToolPorts, inp: Input, rarity: Rarity
) -> tuple[float, str]:
    """Return how well the names of an output and an input agree, and why."""
    is_vague = all(is_generic(x) for x in inp.words if x not in ID_WORDS)
    if inp.words == out.words and not is_vague and not out.is_implied:
        return 1.0, f"both are called {inp.name}"
    goal = _specific(inp.words) or (_specific(sorted(consumer.entity)) if inp.is_opaque else [])
    if not goal:
        return _of_vague_names(out, inp), ""
    places = _places((out.words, out.context, producer.entity, out.about, producer.about))
    rarities = {x: rarity(x) for x in goal}
    credit = sum(y * places.get(root(x), 0.0) for x, y in rarities.items())
    score = credit / (sum(rarities.values()) or 1.0)
    if inp.is_opaque:
        score *= _RECORD if out.is_record else 1.0 if out.is_opaque else _NOT_AN_ID
    elif out.is_opaque:
        score *= _ID_FOR_VALUE
    context = {*inp.words, *inp.about, *producer.entity}
    foreign = [x for x in out.words if x not in context and not is_generic(x)]
    score *= 1 - _FOREIGN * len(foreign) / (len(out.words) or 1)
    shared = [x for x in goal if places.get(root(x))]
    return score, f"about the same: {', '.join(shared[:3])}" if shared else ""


def _same_subject(
    producer: ToolPorts, out: Output, consumer: ToolPorts, inp: Input
) -> tuple[float, str]:
    """Return how likely an undeclared result has the id, because both tools have one subject."""
    about = _specific(sorted(producer.entity))
    has_its_id = inp.is_opaque and out.is_record and producer.looks_up
    if not has_its_id or not about or not consumer.entity.issuperset(about):
        return 0.0, ""
    return _SAME_SUBJECT, f"both are about the {', '.join(about[:3])}"


def _specific(words: Iterable[str]) -> list[str]:
    """Return the words that carry the meaning."""
    return [x for x in words if x not in ID_WORDS and not is_generic(x)]


def _of_vague_names(out: Output, inp: Input) -> float:
    score = _NO_HINT
    if inp.shape.format and inp.shape.format == out.shape.format:
        score = _SAME_FORMAT
    if {*inp.words} & {*out.words}:
        score = max(score, _SAME_NAME if inp.words == out.words else _HALF_NAME)
    about = {root(x) for x in inp.about if not is_generic(x)}
    own = {root(x) for x in (*out.words, *out.context) if not is_generic(x)}
    return max(score, _DESCRIBED) if about & own else score


@lru_cache(maxsize=2_000)  # cached: each output is compared with many inputs
def _places(levels: tuple[Iterable[str], ...]) -> Mapping[str, float]:
    """Return the weight of each root, by its place in the output and its tool."""
    weights: dict[str, float] = {}
    for words, credit in zip(levels, _PLACES, strict=True):
        for x in words:
            weights.setdefault(root(x), credit)
    return weights


def _doubt(producer: ToolPorts, out: Output, inp: Input, *, is_named: bool) -> float:
    """Return the factor that a flow loses by the kind of its output."""
    doubt = 1.0
    if _STATUS_WORDS & {*out.words} and not {*out.words} & {*inp.words}:
        doubt *= _STATUS_ONLY
    if out.is_implied and not producer.reads:
        doubt *= _WRITER
    if out.is_opaque and inp.shape.is_number and not inp.is_opaque and not is_named:
        doubt *= _ID_FOR_AMOUNT
    return doubt


def _weigh(flow: Flow, inp: Input) -> Flow:
    return flow if inp.is_required else replace(flow, score=flow.score * _OPTIONAL)


def _order(flows: Iterable[Flow]) -> list[Flow]:
    return sorted(flows, key=lambda x: (-x.score, str(x.producer), str(x.consumer)))
