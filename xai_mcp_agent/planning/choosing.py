"""Which tools a request asks for, by the words of its steps, and which give what these need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ..search.terms import root, terms
from ..search.tools import ToolIndex
from .flows import Flow, Flows
from .literals import literals_for
from .schema_ports import Input, ToolPorts

if TYPE_CHECKING:
    from .request import Request, Step

_CANDIDATES = 6
_WEIGHED = 4  # times as many tools are looked at where some are preferred
# A step that finds so much less than the best one of the request asks for nothing, unless it
# begins as the tool does.
_IDLE, _IDLE_VERB = 0.33, 0.25
# A step that fits a tool already chosen nearly as well as any speaks of that one.
_SAME_TOOL = 0.9
# Of the tools that fit so nearly as well as the best, others may be taken: those of the server that
# the request is about, and those that do what is said.
_NEAR = 0.6
_AT_HOME, _ITS_VERB, _OTHER_VERB = 0.2, 0.2, 0.15
# Words that a step's tool does not say find another one: in a request of one step more easily, and
# hardly one of another server.
_LEFT_OVER, _LEFT_OF_ONE, _LEFT_STRANGER = 0.5, 0.4, 2.0
_MOST_LEFT_OVER, _LEFT_SCORE = 2, 0.5
_SHOWN_CHARACTERS = 60
# What gives a thing that is needed has to fit half on the consumer's server; elsewhere it must be
# named alike, and said.
_LEAST_GIVER, _LEAST_STRANGER = 0.5, 1.1
_THERE, _SAME_SERVER, _SAID, _FILLABLE, _WRITES = 0.3, 0.1, 0.5, 0.2, 0.3
_SURELY_SAID = 0.7
_MOST_DEPTH, _MOST_GIVERS, _MOST_CALLS = 4, 12, 12
_NEEDED_SCORE = 0.5
# Of tools that are given, which step asks for which: a word that few tools have says about 5.
_NEXT_STEP, _OUT_OF_PLACE, _IN_DESCRIPTION = 2.0, 1.0, 0.5

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

    def __init__(self, words: Words, flows: Flows, request: Request) -> None:
        self._words, self._flows, self._request = words, flows, request
        self._homes: dict[str, float] = {}

    def choose(self) -> list[Choice]:
        """The tools in the order in which they are asked for."""
        scored = [(x, self._words.scores(x.asked, _CANDIDATES)) for x in self._request.steps]
        most = max((found[0][1] for _, found in scored if found), default=0.0)
        asking = [(step, found) for step, found in scored if self._asks(step, found, most)]
        self._homes = self._servers(found for _, found in asking)
        least = most * (_LEFT_OF_ONE if len(asking) == 1 else _LEFT_OVER)
        chosen: dict[Any, Choice] = {}
        for step, found in asking:
            if not any(key in chosen and x >= _SAME_TOOL * found[0][1] for key, x in found):
                first = self._best(step, found)
                asked = [first, *self._left_over(step, first, least)]
                for one in sorted(asked, key=lambda x: _place(x.ports, step)):
                    chosen.setdefault(one.ports.key, one)
        return list(chosen.values())

    def _asks(self, step: Step, found: _Scored, most: float) -> bool:
        if not found:
            return False
        verb = root(self._flows.ports(found[0][0]).verb)
        return found[0][1] >= most * (_IDLE_VERB if verb in step.roots else _IDLE)

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

    def _best(self, step: Step, found: _Scored) -> Choice:
        top = found[0][1]
        scored = [
            (score / top + self._evidence(self._flows.ports(key), step), str(key), key)
            for key, score in found
            if score >= _NEAR * top
        ]
        best, _, key = max(scored, key=lambda x: x[:2])
        said = f"asked for: {step.text.strip()[:_SHOWN_CHARACTERS]}"
        return Choice(self._flows.ports(key), step, max(min(best, 1.0), 0.0), (said,))

    def _evidence(self, ports: ToolPorts, step: Step) -> float:
        """What tells between tools whose words fit alike."""
        verb = _ITS_VERB if ports.verb_groups & step.verb_groups else 0.0
        if not verb and ports.verb_groups and "read" not in ports.verb_groups:
            verb = -_OTHER_VERB  # nobody wants that done
        return verb + _AT_HOME * self._homes.get(ports.server, 0.0)

    def _left_over(self, step: Step, first: Choice, least: float) -> Iterator[Choice]:
        """Further tools, for what those before them do not say of a step."""
        known, there = _said_by(first.ports), {first.ports.key}
        for _ in range(_MOST_LEFT_OVER):
            words = [x for x in terms(step.asked) if root(x) not in known]
            found = self._words.scores(" ".join(words), 2) if words else []
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


class Needs:
    """Completes chosen tools by those that give what they need and nobody said."""

    def __init__(self, flows: Flows, request: Request, chosen: Sequence[Choice]) -> None:
        self._flows, self._request, self._chosen = flows, request, chosen
        self._found: dict[Any, Choice] = {}

    def complete(self) -> list[Choice]:
        """All tools in the order in which they are called."""
        for one in self._chosen:
            self._add(one, ())
        return list(self._found.values())[:_MOST_CALLS]

    def _add(self, one: Choice, above: tuple[Any, ...]) -> None:
        """Add a tool behind those that give what it needs; `above` are those that need it."""
        key = one.ports.key
        if key in self._found:
            return
        above = (*above, key)
        for inp in one.ports.required if len(above) <= _MOST_DEPTH else ():
            if inp.is_opaque and self._said(inp) < _SURELY_SAID:
                giver = self._giver(one, inp)
                if giver is not None and giver not in above:
                    self._add(self._choice(giver, one, inp), above)
        self._found.setdefault(key, one)

    def _choice(self, giver: Any, one: Choice, inp: Input) -> Choice:
        reason = f"gives {inp.name!r} to {one.ports.name}"
        asked = next((x for x in self._chosen if x.ports.key == giver), None)
        return asked or Choice(self._flows.ports(giver), one.step, _NEEDED_SCORE, (reason,))

    def _giver(self, one: Choice, inp: Input) -> Any | None:
        """The tool to ask for an input."""
        best: tuple[float, Any] = 0.0, None
        for flow in self._flows.producers(one.ports, inp)[:_MOST_GIVERS]:
            ports = self._flows.ports(flow.producer)
            is_near = ports.server == one.ports.server
            score = self._score(flow, ports, one.ports)
            if score > max(best[0], _LEAST_GIVER if is_near else _LEAST_STRANGER):
                best = score, flow.producer
        return best[1]

    def _score(self, flow: Flow, ports: ToolPorts, consumer: ToolPorts) -> float:
        """What flows counts more than the exact type: that is seldom declared."""
        is_chosen = any(x.ports.key == flow.producer for x in self._chosen)
        own_words = ports.name_words - consumer.name_words
        return (
            flow.score / flow.fit**0.5
            + _THERE * (is_chosen or flow.producer in self._found)
            + _SAME_SERVER * (ports.server == consumer.server)
            + _SAID * self._flows.said_share(own_words, self._request.roots)
            + _FILLABLE * self._fillable(ports)
            - _WRITES * (not ports.reads)
        )

    def _fillable(self, ports: ToolPorts) -> float:
        """How far the request says what a tool needs itself, -1 to 1."""
        said = [self._said(x) for x in ports.required if not x.is_opaque]
        return sum(min(x * 4, 2.0) - 1 for x in said) / len(said) if said else 0.0

    def _said(self, inp: Input) -> float:
        found = (literals_for(inp, step, self._request) for step in self._request.steps)
        return max((x[0].score for x in found if x), default=0.0)


def aligned(flows: Flows, request: Request, tools: Sequence[ToolPorts]) -> list[Step | None]:
    """The step that asks for each of some tools: the best fit that keeps the order of both."""
    steps = request.steps
    if not steps:
        return [None] * len(tools)
    best = [0.0] * len(steps)  # sums up to each step with the tools so far
    came_from: list[list[int]] = []
    for number, tool in enumerate(tools):
        at, sums, places, place = (number + 0.5) / len(tools), list(best), [*range(len(steps))], 0
        for n, step in enumerate(steps):
            goes_on = best[place] + (_NEXT_STEP if number and n else 0.0)
            places[n] = n if best[n] > goes_on else place
            away = abs((n + 0.5) / len(steps) - at)
            sums[n] = max(best[n], goes_on) + _said(flows, tool, step) - _OUT_OF_PLACE * away
            place = n if best[n] > best[place] else place
        best = sums
        came_from.append(places)
    at = max(range(len(steps)), key=lambda n: best[n])
    chosen: list[Step | None] = []
    for places in reversed(came_from):
        chosen.append(steps[at])
        at = places[at]
    return chosen[::-1]


def _said(flows: Flows, tool: ToolPorts, step: Step) -> float:
    named = {root(x) for x in tool.name_words}
    about = {root(x) for x in tool.about}
    return sum(
        flows.rarity(x) * (1.0 if root(x) in named else _IN_DESCRIPTION)
        for x in step.words
        if root(x) in named or root(x) in about
    )


def _said_by(ports: ToolPorts) -> frozenset[str]:
    """The roots of what a tool says of itself."""
    words = [*ports.name_words, *ports.about, *(y for x in ports.inputs for y in x.words)]
    return frozenset(map(root, words))


def _place(ports: ToolPorts, step: Step) -> float:
    """Where in a step a tool is spoken of."""
    named = {root(x) for x in ports.name_words}
    places = [n for n, x in enumerate(step.words) if root(x) in named]
    return sum(places) / len(places) if places else len(step.words)
