"""Which tools the steps of a request ask for, by words first, then by what is known of the tools.

What a tool needs beside that is for `needs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..search.terms import root, terms
from ..search.tools import ToolIndex
from .deeds import READ
from .flows import Flows
from .literals import has_media, literals_for
from .ports import Input, ToolPorts
from .steps import Request, Step

_CANDIDATES = 6
_WEIGHED = 4  # times as many tools are looked at where some are preferred
# A step that finds so much less than the best one of the request asks for nothing, unless it
# begins as the tool does.
_IDLE, _IDLE_DEED = 0.33, 0.25
# A step that fits a tool already chosen nearly as well as any speaks of that one.
_SAME_TOOL = 0.9
# Of the tools that fit so nearly as well as the best, others may be taken: those of the server that
# the request is about, those that do what is said, those that can be given what they need.
_NEAR = 0.6
_AT_HOME, _ITS_DEED, _OTHER_DEED, _UNFILLED = 0.2, 0.2, 0.15, 0.25
# Words that a step's tool does not say find another one: in a request of one step more easily, and
# hardly one of another server.
_LEFT_OVER, _LEFT_OF_ONE, _LEFT_STRANGER = 0.5, 0.4, 2.0
_MOST_LEFT_OVER = 2
_LEFT_SCORE = 0.5
_SHOWN_CHARACTERS = 60

_Scored: TypeAlias = list[tuple[Any, float]]


@dataclass(frozen=True, slots=True)
class Choice:
    """A tool that is to be called, for a step or to give another one what it needs."""

    ports: ToolPorts
    step: Step | None
    score: float
    reasons: tuple[str, ...]


class Words:
    """How well tools fit some words; `weights` are factors for tools that somebody prefers."""

    def __init__(self, index: ToolIndex[Any]) -> None:
        self._index = index
        self.weights: Mapping[Any, float] = {}

    def scores(self, text: str, limit: int) -> list[tuple[Any, float]]:
        """The keys of the tools that fit best, with scores, best first."""
        if not self.weights:
            return self._index.scores(text, limit)
        found = self._index.scores(text, _WEIGHED * limit)
        weighed = ((key, score * self.weights.get(key, 1.0)) for key, score in found)
        return sorted((x for x in weighed if x[1] > 0), key=lambda x: (-x[1], str(x[0])))[:limit]


class Chooser:
    """Chooses the tools that the steps of one request ask for."""

    def __init__(self, index: Words, flows: Flows, request: Request) -> None:
        self._index, self._flows, self._request = index, flows, request
        self._homes: dict[str, float] = {}

    def choose(self) -> list[Choice]:
        """The tools in the order in which they are asked for."""
        scored = [(x, self._index.scores(x.asked, _CANDIDATES)) for x in self._request.steps]
        most = max((found[0][1] for _, found in scored if found), default=0.0)
        scored = [
            (step, found) for step, found in scored if found and self._asks(step, found, most)
        ]
        self._homes = self._servers(found for _, found in scored)
        least = most * (_LEFT_OF_ONE if len(scored) == 1 else _LEFT_OVER)
        chosen: list[Choice] = []
        for step, found in scored:
            there = {x.ports.key for x in chosen}
            if not any(key in there and x >= _SAME_TOOL * found[0][1] for key, x in found):
                first = self._best(step, found, chosen)
                asked = [first, *self._left_over(step, first, least)]
                asked.sort(key=lambda x: _place(x.ports, step))
                chosen += [x for x in asked if x.ports.key not in there]
        return chosen

    def _asks(self, step: Step, found: _Scored, most: float) -> bool:
        deed = root(self._flows.ports(found[0][0]).deed)
        return found[0][1] >= most * (_IDLE_DEED if deed in step.roots else _IDLE)

    def _servers(self, found: Iterable[_Scored]) -> dict[str, float]:
        """How much of the request a server's tools say, against the one whose tools say most."""
        said: dict[str, float] = {}
        for one in found:
            best: dict[str, float] = {}
            for key, score in one:
                best.setdefault(self._flows.ports(key).server, score)
            for server, score in best.items():
                said[server] = said.get(server, 0.0) + score
        most = max(said.values(), default=1.0)
        return {server: score / most for server, score in said.items()}

    def _best(self, step: Step, found: _Scored, chosen: Sequence[Choice]) -> Choice:
        top = found[0][1]
        near = [(key, score / top) for key, score in found if score >= _NEAR * top]
        scored = [
            (score + self._evidence(self._flows.ports(key), step, chosen), str(key), key)
            for key, score in near
        ]
        best, _, key = max(scored, key=lambda x: x[:2])
        said = f"asked for: {step.text.strip()[:_SHOWN_CHARACTERS]}"
        return Choice(self._flows.ports(key), step, max(min(best, 1.0), 0.0), (said,))

    def _evidence(self, ports: ToolPorts, step: Step, chosen: Sequence[Choice]) -> float:
        """What tells between tools whose words fit alike."""
        deed = _ITS_DEED if ports.deeds & step.deeds else 0.0
        if not deed and ports.deeds and READ not in ports.deeds:
            deed = -_OTHER_DEED  # nobody wants that done
        home = _AT_HOME * self._homes.get(ports.server, 0.0)
        return deed + home - _UNFILLED * self._unfilled(ports, step, chosen)

    def _unfilled(self, ports: ToolPorts, step: Step, chosen: Sequence[Choice]) -> float:
        """How much of what a tool must be given looks like nothing that there is."""
        required = [x for x in ports.required if x.is_opaque or x.shape.format or has_media(x)]
        lacking = sum(1 - self._filled(x, ports, step, chosen) for x in required)
        return lacking / len(required) if required else 0.0

    def _filled(self, inp: Input, ports: ToolPorts, step: Step, chosen: Sequence[Choice]) -> float:
        said = [x.score for x in literals_for(inp, step, self._request)]
        flows = (self._flows.best(x.ports, ports, inp) for x in chosen)
        return min(max([0.0, *said, *(x.score for x in flows if x)]), 1.0)

    def _left_over(self, step: Step, first: Choice, least: float) -> Iterator[Choice]:
        """Further tools, for what those before them do not say of a step."""
        known, there = _said_by(first.ports), {first.ports.key}
        for _ in range(_MOST_LEFT_OVER):
            words = [x for x in terms(step.asked) if root(x) not in known]
            found = self._index.scores(" ".join(words), 2) if words else []
            new = next(((key, score) for key, score in found if key not in there), None)
            if new is None:
                return
            ports = self._flows.ports(new[0])
            is_strange = ports.server != first.ports.server
            if new[1] < least * (_LEFT_STRANGER if is_strange else 1.0):
                return
            there.add(ports.key)
            known |= _said_by(ports)
            said = f"asked for: {' '.join(words)[:_SHOWN_CHARACTERS]}"
            yield Choice(ports, step, _LEFT_SCORE, (said,))


def _said_by(ports: ToolPorts) -> frozenset[str]:
    """The roots of what a tool says of itself."""
    words = [*ports.name_words, *ports.about, *(y for x in ports.inputs for y in x.words)]
    return frozenset(root(x) for x in words)


def _place(ports: ToolPorts, step: Step) -> float:
    """Where in a step a tool is spoken of."""
    named = {root(x) for x in ports.name_words}
    places = [n for n, x in enumerate(step.words) if root(x) in named]
    return sum(places) / len(places) if places else len(step.words)
