"""Which output of a tool fits which input of another, how well, by which conversion, and why.

Worked out when asked. An input looks only at tools that share a word with what names it, which an
index of words tells; that is a few milliseconds among thousands of tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..core.json import JsonObject
from ..core.tools import Tool
from .affinity import Affinity, affinity
from .deeds import listed
from .fits import fit
from .port_index import PortIndex, given_roots, type_words
from .ports import ID_WORDS, Input, Output, ToolPorts, is_generic

LEAST = 0.3
"""Below this two ports have nothing to do with each other."""
_SHAPE_ALONE = 0.15  # how much of a score the shape has without any word: types alone say little
_SAYS_HOW_IT_WENT = listed("status success message error ok confirmation")
_HOW_IT_WENT = 0.35  # how much less that is wanted than what was asked for
_OF_A_WRITER = 0.7  # what a tool gives that changes something, and does not say what it gives
_ID_FOR_AMOUNT = 0.5  # an id is a number only by chance
NUMBERS = ("integer", "number")
_MOST_PRODUCERS = _MOST_CONSUMERS = 40
_MOST_KEPT = 20_000  # inputs whose producers are known
_OPTIONAL = 0.6


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
        self._index = PortIndex()
        self._producers: dict[tuple[Any, str], tuple[Flow, ...]] = {}

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, key: object) -> bool:
        return key in self._index

    def put(self, tool: Tool | JsonObject) -> ToolPorts:
        """Add a tool, or replace the one that has its key; gives its ports."""
        self._producers.clear()
        return self._index.put(tool)

    def remove(self, key: Any) -> ToolPorts | None:
        """Forget a tool, if it is there; gives the ports that it had."""
        self._producers.clear()
        return self._index.remove(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._index)

    def ports(self, key: Any) -> ToolPorts:
        """What goes into a tool and comes out of it."""
        return self._index.ports(key)

    def rarity(self, word: str) -> float:
        """How much a word says in the names of ports; rare ones say most."""
        return self._index.rarity(word)

    def producers(self, consumer: ToolPorts, inp: Input) -> tuple[Flow, ...]:
        """The tools whose output serves an input, the best first: one flow of each tool.

        None of those that need the same themselves.
        """
        asked = (consumer.key, inp.name)
        if asked not in self._producers:
            if len(self._producers) >= _MOST_KEPT:
                self._producers.clear()
            self._producers[asked] = tuple(_ordered(self._flows_into(consumer, inp)))
        return self._producers[asked]

    def into(self, consumer: ToolPorts) -> list[Flow]:
        """What may fill the parameters of a tool, the best first; less where none is needed."""
        found: list[Flow] = []
        for inp in consumer.inputs:
            share = 1.0 if inp.is_required else _OPTIONAL
            of_it = (replace(x, score=x.score * share) for x in self.producers(consumer, inp))
            found += [x for x in of_it if x.score >= LEAST]
        return _ordered(found)

    def consumers(self, producer: ToolPorts) -> list[Flow]:
        """The tools that take what a tool gives, the best first: one flow of each tool."""
        near = self._index.takers(given_roots(producer), _MOST_CONSUMERS + 1)
        found = (self.between(producer.key, key) for key in near if key != producer.key)
        return _ordered(x for x in found if x)

    def between(self, producer: Any, consumer: Any) -> Flow | None:
        """The best flow from one tool to another, rather into what it needs than else."""
        giving, taking = self.ports(producer), self.ports(consumer)
        found: list[Flow] = []
        for inp in taking.inputs:
            if flow := self.best(giving, taking, inp):
                share = 1.0 if inp.is_required else _OPTIONAL
                found.append(replace(flow, score=flow.score * share))
        best = max(found, key=lambda x: x.score, default=None)
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
        if declared := out.types & inp.types:
            near = Affinity(1.0, f"both are declared as {min(declared)}")
        else:
            near = affinity(producer, out, consumer, inp, self.rarity)
        score = fitting.score * (_SHAPE_ALONE + (1 - _SHAPE_ALONE) * near.score)
        if not declared:
            score *= _doubt(producer, out, inp, near)
        return Flow(
            producer.key, out.path, consumer.key, inp.name, score, fitting.score,
            fitting.conversion, (near.reason,) if near.reason else (),
        )  # fmt: skip

    def _flows_into(self, consumer: ToolPorts, inp: Input) -> Iterable[Flow]:
        for key in self._index.givers(looked_for(consumer, inp), _MOST_PRODUCERS + 1):
            producer = self.ports(key)
            same = producer.by_name.get(inp.name)
            if key == consumer.key or (same and same.is_required):
                continue
            flow = self.best(producer, consumer, inp)
            if flow and flow.score >= LEAST:
                yield flow


def looked_for(consumer: ToolPorts, inp: Input) -> list[str]:
    """The words by which the tools are found that may give an input."""
    found = {x for x in inp.words if x not in ID_WORDS}
    if inp.is_opaque:
        found |= {x for x in (*inp.about, *consumer.entity) if not is_generic(x)}
    return sorted((found or {*inp.words}) | type_words(inp))


def _doubt(producer: ToolPorts, out: Output, inp: Input, near: Affinity) -> float:
    """How much less a flow counts because of what its output is."""
    doubt = 1.0
    if _SAYS_HOW_IT_WENT & {*out.words} and not {*out.words} & {*inp.words}:
        doubt *= _HOW_IT_WENT
    if out.is_implied and not producer.reads:
        doubt *= _OF_A_WRITER
    if out.is_opaque and not inp.is_opaque and inp.shape.kind in NUMBERS and not near.reason:
        doubt *= _ID_FOR_AMOUNT
    return doubt


def _ordered(flows: Iterable[Flow]) -> list[Flow]:
    return sorted(flows, key=lambda x: (-x.score, str(x.producer), str(x.consumer)))
