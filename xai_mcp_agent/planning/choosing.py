"""Choice of tools for a request by the words of its steps, and of their suppliers."""

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
    from .request import PlanRequest, RequestStep

_CANDIDATES = 6
_MORE_IF_WEIGHTED = 4  # factor for the number of candidates if some tools are preferred
# A step asks for nothing if its best match has less than this share of the request's best score;
# less is enough if the step has the verb of the tool.
_IDLE, _IDLE_VERB = 0.33, 0.25
# A step that fits a chosen tool nearly as well as any other refers to that tool.
_SAME_TOOL = 0.9
# Among tools that fit nearly as well as the best, prefer the server that the request is about, and
# tools with the verb of the step.
_NEAR = 0.6
_AT_HOME, _ITS_VERB, _OTHER_VERB = 0.2, 0.2, 0.15
# Words that the step's tool does not contain may select an extra tool: more easily in a request of
# one step, hardly from another server.
_EXTRA, _EXTRA_IN_ONE_STEP, _EXTRA_STRANGER = 0.5, 0.4, 2.0
_MOST_EXTRAS, _EXTRA_SCORE = 2, 0.5
_REASON_CHARACTERS = 60
# Least score of a supplier on the consumer's server; on another one it must have the same name, and
# the request must mention it.
_LEAST_SUPPLIER, _LEAST_STRANGER = 0.5, 1.1
_PLANNED, _SAME_SERVER, _MENTIONED, _FILLABLE, _WRITES = 0.3, 0.1, 0.5, 0.2, 0.3
_SURE_LITERAL = 0.7
_MOST_DEPTH, _MOST_SUPPLIERS, _MOST_CALLS = 4, 12, 12
_SUPPLIER_SCORE = 0.5
# Weights that match a list of tools with steps: a word that few tools have counts about 5.
_NEXT_STEP, _OUT_OF_PLACE, _IN_DESCRIPTION = 2.0, 1.0, 0.5

_Scored: TypeAlias = list[tuple[Any, float]]


@dataclass(frozen=True, slots=True)
class ToolForStep:
    """Tool to call, for a step or to supply another tool."""

    ports: ToolPorts
    step: RequestStep | None
    score: float
    reasons: tuple[str, ...]


class WordRanking:
    """Ranking of tools by words; `weights` are factors for preferred tools."""

    def __init__(self, index: ToolIndex[Any]) -> None:
        self._index = index
        self.weights: Mapping[Any, float] = {}

    def scores(self, text: str, limit: int) -> list[tuple[Any, float]]:
        """Return the keys of the best tools with their scores, best first."""
        if not self.weights:
            return self._index.scores(text, limit)
        scores = self._index.scores(text, _MORE_IF_WEIGHTED * limit)
        weighted = ((key, score * self.weights.get(key, 1.0)) for key, score in scores)
        return sorted((x for x in weighted if x[1] > 0), key=lambda x: (-x[1], str(x[0])))[:limit]


class Chooser:
    """Chooses the tools that the steps of a request ask for."""

    def __init__(self, words: WordRanking, flows: Flows, request: PlanRequest) -> None:
        self._words, self._flows, self._request = words, flows, request
        self._homes: dict[str, float] = {}

    def choose(self) -> list[ToolForStep]:
        """Return the tools in the order of the request."""
        scored = [(x, self._words.scores(x.unquoted, _CANDIDATES)) for x in self._request.steps]
        most = max((matches[0][1] for _, matches in scored if matches), default=0.0)
        asking = [(step, matches) for step, matches in scored if self._asks(step, matches, most)]
        self._homes = self._servers(matches for _, matches in asking)
        least = most * (_EXTRA_IN_ONE_STEP if len(asking) == 1 else _EXTRA)
        chosen: dict[Any, ToolForStep] = {}
        for step, matches in asking:
            if not any(key in chosen and x >= _SAME_TOOL * matches[0][1] for key, x in matches):
                first = self._best(step, matches)
                choices = [first, *self._extras(step, first, least)]
                for one in sorted(choices, key=lambda x: _place(x.ports, step)):
                    chosen.setdefault(one.ports.key, one)
        return list(chosen.values())

    def _asks(self, step: RequestStep, matches: _Scored, most: float) -> bool:
        if not matches:
            return False
        verb = root(self._flows.ports(matches[0][0]).verb)
        return matches[0][1] >= most * (_IDLE_VERB if verb in step.roots else _IDLE)

    def _servers(self, matches: Iterable[_Scored]) -> dict[str, float]:
        """Return how much of the request each server's tools cover, relative to the best server."""
        shares: dict[str, float] = {}
        for one in matches:
            best: dict[str, float] = {}
            for key, score in one:
                best.setdefault(self._flows.ports(key).server, score)
            for server, score in best.items():
                shares[server] = shares.get(server, 0.0) + score
        most = max(shares.values(), default=1.0)
        return {server: score / most for server, score in shares.items()}

    def _best(self, step: RequestStep, matches: _Scored) -> ToolForStep:
        top = matches[0][1]
        scored = [
            (score / top + self._evidence(self._flows.ports(key), step), str(key), key)
            for key, score in matches
            if score >= _NEAR * top
        ]
        best, _, key = max(scored, key=lambda x: x[:2])
        reason = f"asked for: {step.text.strip()[:_REASON_CHARACTERS]}"
        return ToolForStep(self._flows.ports(key), step, max(min(best, 1.0), 0.0), (reason,))

    def _evidence(self, ports: ToolPorts, step: RequestStep) -> float:
        """Return the bonus that decides between tools whose words fit equally well."""
        verb = _ITS_VERB if ports.verb_groups & step.verb_groups else 0.0
        if not verb and ports.verb_groups and "read" not in ports.verb_groups:
            verb = -_OTHER_VERB  # the step does not ask for this change
        return verb + _AT_HOME * self._homes.get(ports.server, 0.0)

    def _extras(self, step: RequestStep, first: ToolForStep, least: float) -> Iterator[ToolForStep]:
        """Yield extra tools for words of a step that its tools do not contain."""
        roots, chosen = _roots_of(first.ports), {first.ports.key}
        for _ in range(_MOST_EXTRAS):
            words = [x for x in terms(step.unquoted) if root(x) not in roots]
            matches = self._words.scores(" ".join(words), 2) if words else []
            new = next(((key, score) for key, score in matches if key not in chosen), None)
            if new is None:
                return
            ports = self._flows.ports(new[0])
            is_strange = ports.server != first.ports.server
            if new[1] < least * (_EXTRA_STRANGER if is_strange else 1.0):
                return
            chosen.add(ports.key)
            roots |= _roots_of(ports)
            reason = f"asked for: {' '.join(words)[:_REASON_CHARACTERS]}"
            yield ToolForStep(ports, step, _EXTRA_SCORE, (reason,))


class Needs:
    """Adds tools that supply the inputs of chosen tools which the request does not contain."""

    def __init__(self, flows: Flows, request: PlanRequest, chosen: Sequence[ToolForStep]) -> None:
        self._flows, self._request = flows, request
        self._chosen = {x.ports.key: x for x in chosen}
        self._calls: dict[Any, ToolForStep] = {}

    def complete(self) -> list[ToolForStep]:
        """Return all tools in the order of their calls."""
        for one in self._chosen.values():
            self._add(one, ())
        return list(self._calls.values())[:_MOST_CALLS]

    def _add(self, one: ToolForStep, above: tuple[Any, ...]) -> None:
        """Add a tool after its suppliers; `above` are the tools that need it."""
        key = one.ports.key
        if key in self._calls:
            return
        above = (*above, key)
        for inp in one.ports.required if len(above) <= _MOST_DEPTH else ():
            if inp.is_opaque and self._literal_score(inp) < _SURE_LITERAL:
                supplier = self._supplier(one, inp)
                if supplier is not None and supplier not in above:
                    self._add(self._choice(supplier, one, inp), above)
        self._calls.setdefault(key, one)

    def _choice(self, supplier: Any, one: ToolForStep, inp: Input) -> ToolForStep:
        reason = f"gives {inp.name!r} to {one.ports.name}"
        ports = self._flows.ports(supplier)
        new = ToolForStep(ports, one.step, _SUPPLIER_SCORE, (reason,))
        return self._chosen.get(supplier, new)

    def _supplier(self, one: ToolForStep, inp: Input) -> Any | None:
        """Return the tool that supplies an input."""
        best: tuple[float, Any] = 0.0, None
        for flow in self._flows.producers(one.ports, inp)[:_MOST_SUPPLIERS]:
            ports = self._flows.ports(flow.producer)
            is_near = ports.server == one.ports.server
            score = self._score(flow, ports, one.ports)
            if score > max(best[0], _LEAST_SUPPLIER if is_near else _LEAST_STRANGER):
                best = score, flow.producer
        return best[1]

    def _score(self, flow: Flow, ports: ToolPorts, consumer: ToolPorts) -> float:
        """Return the score of a supplier; its words count more than the exact type."""
        is_planned = flow.producer in self._chosen or flow.producer in self._calls
        own_words = ports.name_words - consumer.name_words
        return (
            flow.score / flow.fit**0.5
            + _PLANNED * is_planned
            + _SAME_SERVER * (ports.server == consumer.server)
            + _MENTIONED * self._flows.covered_share(own_words, self._request.roots)
            + _FILLABLE * self._fillable(ports)
            - _WRITES * (not ports.reads)
        )

    def _fillable(self, ports: ToolPorts) -> float:
        """Return how far the request has values for a tool's own inputs, from -1 to 1."""
        scores = [self._literal_score(x) for x in ports.required if not x.is_opaque]
        return sum(min(x * 4, 2.0) - 1 for x in scores) / len(scores) if scores else 0.0

    def _literal_score(self, inp: Input) -> float:
        candidates = (literals_for(inp, step, self._request) for step in self._request.steps)
        return max((x[0].score for x in candidates if x), default=0.0)


def align_steps(
    flows: Flows, request: PlanRequest, tools: Sequence[ToolPorts]
) -> list[RequestStep | None]:
    """Return the step of each tool: the best match that keeps the order of both."""
    steps = request.steps
    if not steps:
        return [None] * len(tools)
    best = [0.0] * len(steps)  # best sums up to each step with the tools so far
    came_from: list[list[int]] = []
    for number, tool in enumerate(tools):
        position, place = (number + 0.5) / len(tools), 0
        sums: list[float] = []
        places: list[int] = []
        for n, step in enumerate(steps):
            advance = best[place] + (_NEXT_STEP if number and n else 0.0)
            places.append(n if best[n] > advance else place)
            mention = _mention_score(flows, tool, step)
            distance = abs((n + 0.5) / len(steps) - position)
            sums.append(max(best[n], advance) + mention - _OUT_OF_PLACE * distance)
            place = n if best[n] > best[place] else place
        best = sums
        came_from.append(places)
    at = max(range(len(steps)), key=lambda n: best[n])
    chosen: list[RequestStep | None] = []
    for places in reversed(came_from):
        chosen.append(steps[at])
        at = places[at]
    return chosen[::-1]


def _mention_score(flows: Flows, tool: ToolPorts, step: RequestStep) -> float:
    names = {root(x) for x in tool.name_words}
    about = {root(x) for x in tool.about}
    return sum(
        flows.rarity(x) * (1.0 if root(x) in names else _IN_DESCRIPTION)
        for x in step.words
        if root(x) in names or root(x) in about
    )


def _roots_of(ports: ToolPorts) -> frozenset[str]:
    """Return the word roots of a tool's name and description."""
    words = [*ports.name_words, *ports.about, *(y for x in ports.inputs for y in x.words)]
    return frozenset(map(root, words))


def _place(ports: ToolPorts, step: RequestStep) -> float:
    """Return the position in a step where it mentions a tool."""
    names = {root(x) for x in ports.name_words}
    places = [n for n, x in enumerate(step.words) if root(x) in names]
    return sum(places) / len(places) if places else len(step.words)
