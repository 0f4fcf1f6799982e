"""From where each argument of given calls comes: the request, or the result of an earlier call.

Every value that the request says and every earlier call is a candidate for every parameter. The
best pairs come first; a value is used once in a call, and so is a result that nothing names.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..search.terms import root
from .flows import NUMBERS, Flow, Flows, looked_for
from .literals import Literal, literals_for
from .plan import FromResult, Given, Missing, Source
from .port_index import given_roots
from .ports import Input, Output, ToolPorts, is_generic, output_of
from .shapes import ANY
from .steps import Request, Step

# The least that a candidate must have, by what the parameter is and where the value comes from. An
# id that nobody said is in some earlier result: without it the call could not be made at all.
_LEAST_REFERENCE, _LEAST_LITERAL, _LEAST_ID = 0.47, 0.35, 0.25
_OPTIONAL_ID, _OPTIONAL_REFERENCE, _OPTIONAL_LITERAL = 0.9, 1.3, 0.7
_UNASKED = 0.5  # an optional parameter takes a result that its step points at
# More for a result that the step names, points at, or calls a result; for a later one among equals.
_MENTIONED, _POINTED_BACK, _AT_RESULT, _NAMED_RESULT, _RECENT = 0.3, 0.05, 0.12, 0.2, 0.02
# Less for a value that another step says, or that another call has taken already.
_ELSEWHERE, _USED_HERE, _USED_ELSEWHERE, _OTHERS_ID = 0.6, 0.7, 0.45, 0.4
_OF_A_WRITER, _SAME_AS_BEFORE = 0.75, 0.05
_GUESSED = 0.3
LOOKED_BACK, LOOKED_FAR_BACK = 12, 4
"""Calls before one whose results it may use: the nearest, and earlier ones that are named alike."""


_Words: TypeAlias = Sequence[tuple[str, str, float]]  # with their roots, and how rare they are
_Telling: TypeAlias = Sequence[_Words]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call to be wired: the tool, and the step of the request that asks for it, if one does."""

    ports: ToolPorts
    step: Step | None


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A source that an input might have, and how good it is.

    `is_named`: a name says that it is what is wanted.
    """

    inp: Input
    score: float
    literal: Literal | None = None
    reference: FromResult | None = None
    is_named: bool = False


@dataclass(slots=True)
class _Taken:
    """What the parameters of one call have, and which values and results are used by it."""

    sources: dict[str, Source] = field(default_factory=dict[str, Source])
    places: set[int] = field(default_factory=set[int])
    results: set[tuple[int, str | None]] = field(default_factory=set[tuple[int, str | None]])

    def may_take(self, one: _Candidate) -> bool:
        """Whether it is still free, and good enough."""
        if one.inp.name in self.sources or one.score < _least(one):
            return False
        if one.literal:
            return one.literal.place not in self.places
        reference = one.reference
        return bool(reference) and (
            one.is_named or (reference.call, reference.field) not in self.results
        )

    def take(self, one: _Candidate) -> None:
        """Let the parameter have it."""
        if one.literal:
            self.sources[one.inp.name] = Given(one.literal.value, (one.literal.reason,))
            if one.literal.place >= 0:
                self.places.add(one.literal.place)
        elif one.reference:
            self.sources[one.inp.name] = one.reference
            self.results.add((one.reference.call, one.reference.field))


class Wiring:
    """Finds the sources of all arguments of some calls, one call after the other."""

    def __init__(self, flows: Flows, request: Request, calls: Sequence[Wanted]) -> None:
        self._flows, self._request, self._calls = flows, request, calls
        self._wired: list[dict[str, Source]] = []
        self._owners: dict[int, str] = {}
        self._said: dict[int, set[str]] = {}  # parameters that took what is said at a place
        self._telling: dict[tuple[Any, str], _Telling] = {}
        self._best: dict[tuple[Any, Any, str, int | None], Flow | None] = {}
        self._fitting: dict[tuple[Any, str, int], Sequence[Literal]] = {}
        self._giving: dict[str, list[int]] = {}  # the calls that give what is named so

    def sources(self) -> list[dict[str, Source]]:
        """The sources, by call."""
        for number, call in enumerate(self._calls):
            self._wired.append(self._of_call(number))
            for x in given_roots(call.ports):
                self._giving.setdefault(x, []).append(number)
        return self._wired

    def _of_call(self, number: int) -> dict[str, Source]:
        ports = self._calls[number].ports
        inputs = ports.inputs
        candidates = [x for inp in inputs for x in self._candidates(number, inp)]
        candidates.sort(key=lambda x: -x.score)
        taken = _Taken()
        for one in candidates:
            if taken.may_take(one):
                taken.take(one)
                if one.literal and one.literal.place >= 0:
                    self._said.setdefault(one.literal.place, set()).add(one.inp.name)
        self._take_unasked(number, candidates, taken)
        for inp in inputs:
            if inp.name in taken.sources or not inp.is_required:
                continue
            if found := self._worked_out(number, inp):
                taken.sources[inp.name] = found
        for inp in ports.required:
            taken.sources.setdefault(inp.name, Missing(f"nothing says {inp.name!r}"))
        return {x.name: taken.sources[x.name] for x in inputs if x.name in taken.sources}

    def _take_unasked(self, number: int, candidates: Sequence[_Candidate], taken: _Taken) -> None:
        """The step points at a result, and nothing takes one: the best input that could."""
        step = self._calls[number].step
        if step is None or not step.points_at_result:
            return
        if any(isinstance(x, FromResult) for x in taken.sources.values()):
            return
        for one in candidates:
            if one.reference and one.score >= _UNASKED and one.inp.name not in taken.sources:
                taken.take(one)
                return

    def _worked_out(self, number: int, inp: Input) -> FromResult | None:
        """A number that nobody says, and that no name finds: the last one that was worked out."""
        if inp.shape.kind not in NUMBERS or not all(map(is_generic, inp.words)):
            return None
        for earlier in reversed(range(max(number - LOOKED_BACK, 0), number)):
            producer = self._calls[earlier].ports
            numbers = [x for x in producer.outputs if _is_amount(x)]
            if not numbers:
                continue
            best = max(numbers, key=self._said_share)
            reason = f"{producer.name} works out {best.path!r}, and nothing else says it"
            return FromResult(earlier, best.path or None, "", _GUESSED, (reason,))
        return None

    def _said_share(self, output: Output) -> float:
        """How much of what names an output the request says anywhere."""
        said = {x for step in self._request.steps for x in step.roots}
        whole = sum(map(self._flows.rarity, output.words))
        told = sum(self._flows.rarity(x) for x in output.words if root(x) in said)
        return told / whole if whole else 0.0

    def _candidates(self, number: int, inp: Input) -> Iterator[_Candidate]:
        call = self._calls[number]
        for step in self._request.steps:
            for x in self._literals(call.ports, inp, step):
                near = self._nearness(x, inp, step is call.step)
                yield _Candidate(inp, x.score * near, literal=x)
        for earlier in self._earlier(number, call.ports, inp):
            if found := self._reference(number, earlier, inp):
                yield found

    def _earlier(self, number: int, consumer: ToolPorts, inp: Input) -> Iterator[int]:
        """The calls whose result an input may use, in their order."""
        nearest = max(number - LOOKED_BACK, 0)
        if nearest:
            shared = Counter[int]()
            for x in {root(x) for x in looked_for(consumer, inp)}:
                numbers = self._giving.get(x, ())
                shared.update(numbers[: bisect_left(numbers, nearest)][-LOOKED_FAR_BACK:])
            best = sorted(shared, key=lambda x: (-shared[x], -x))[:LOOKED_FAR_BACK]
            yield from sorted(best)
        yield from range(nearest, number)

    def _literals(self, tool: ToolPorts, inp: Input, step: Step) -> Sequence[Literal]:
        """What a step says that may be an input; looked at once for all calls of a tool."""
        key = tool.key, inp.name, step.start
        if key not in self._fitting:
            self._fitting[key] = literals_for(inp, step, self._request)
        return self._fitting[key]

    def _nearness(self, literal: Literal, inp: Input, is_here: bool) -> float:
        if inp.is_opaque:  # an id belongs to a thing, not to a step
            return 1.0 if self._owner(literal) in ("", inp.name) else _OTHERS_ID
        by = self._said.get(literal.place, ())
        is_used = bool(by) and (inp.name not in by or all(map(is_generic, inp.words)))
        if is_here:
            return _USED_HERE if is_used else 1.0
        return _USED_ELSEWHERE if is_used else _ELSEWHERE

    def _owner(self, literal: Literal) -> str:
        """The parameter, of all calls, that an id serves best; the first of equals."""
        if not self._owners:
            best: dict[int, float] = {}
            tools = {x.ports.key: x.ports for x in self._calls}.values()
            opaque = ((tool, x) for tool in tools for x in tool.inputs if x.is_opaque)
            for tool, inp in opaque:
                for step in self._request.steps:
                    for x in self._literals(tool, inp, step):
                        if x.score > best.get(x.place, 0.0):
                            best[x.place], self._owners[x.place] = x.score, inp.name
        return self._owners.get(literal.place, "")

    def _reference(self, number: int, earlier: int, inp: Input) -> _Candidate | None:
        producer = self._calls[earlier].ports
        if inp.name in producer.by_name:
            own = self._wired[earlier].get(inp.name)
            if inp.is_opaque:
                return _same(inp, own)
            if isinstance(own, Given) and producer.looks_up and not inp.shape.format:
                return None  # it was told the same, and only says it again
        flow = self._flow(producer, self._calls[number], inp)
        if flow is None:
            return None
        score = self._score(flow, number, earlier)
        reference = FromResult(
            earlier, flow.field or None, flow.conversion, min(score, 1.0), flow.reasons
        )
        return _Candidate(inp, score, reference=reference, is_named=bool(flow.reasons))

    def _score(self, flow: Flow, number: int, earlier: int) -> float:
        """How good a reference is, by all that speaks for it."""
        consumer, producer = self._calls[number], self._calls[earlier].ports
        score = self._worth(flow, consumer) + _RECENT * (earlier + 1) / number
        if not producer.reads:
            score *= _OF_A_WRITER
        if (step := consumer.step) is None:
            return score
        if earlier == number - 1:
            score += _POINTED_BACK * step.points_back + _AT_RESULT * step.points_at_result
            score += _NAMED_RESULT * step.names_result
        return score

    def _flow(self, producer: ToolPorts, consumer: Wanted, inp: Input) -> Flow | None:
        """The best of what a tool says it gives."""
        key = producer.key, consumer.ports.key, inp.name, consumer.step and consumer.step.start
        if key not in self._best:
            flows = (
                self._flows.flow(producer, out, consumer.ports, inp) for out in producer.outputs
            )
            found = [x for x in flows if x]
            self._best[key] = max(found, key=lambda x: self._worth(x, consumer), default=None)
        return self._best[key]

    def _worth(self, flow: Flow, consumer: Wanted) -> float:
        """How well it flows, more than the exact type, and whether the step speaks of it."""
        score = flow.score / flow.fit**0.5
        if consumer.step is None:
            return score
        producer = self._flows.ports(flow.producer)
        return score + _MENTIONED * self._mentioned(flow, producer, consumer.ports, consumer.step)

    def _mentioned(self, flow: Flow, producer: ToolPorts, consumer: ToolPorts, step: Step) -> float:
        """How much of what names an output a step says, beside what names its own tool."""
        return max(_share(x, consumer, step) for x in self._telling_of(producer, flow.field))

    def _telling_of(self, producer: ToolPorts, path: str) -> _Telling:
        """What names an output, and its tool; looked at once for all calls."""
        key = producer.key, path
        if key not in self._telling:
            named = next((x.words for x in producer.outputs if x.path == path), None)
            if named is None:
                named = output_of(path, ANY).words
            self._telling[key] = [
                [(x, root(x), self._flows.rarity(x)) for x in dict.fromkeys(y) if not is_generic(x)]
                for y in (named, sorted(producer.entity))
            ]
        return self._telling[key]


def _share(telling: _Words, consumer: ToolPorts, step: Step) -> float:
    """How much of some words a step says, without those that name the tool it asks for."""
    whole = said = 0.0
    for word, its_root, rarity in telling:
        if word in consumer.name_words:
            continue
        whole += rarity
        if its_root in step.roots:
            said += rarity
    return said / whole if whole else 0.0


def _is_amount(output: Output) -> bool:
    """A number that counts or measures, and is no id."""
    return output.shape.kind in NUMBERS and not output.is_opaque and "[]" not in output.path


def _same(inp: Input, source: Source | None) -> _Candidate | None:
    """An id that an earlier call has, too, comes from where that one has it from."""
    if not isinstance(source, FromResult):
        return None
    return _Candidate(inp, source.score + _SAME_AS_BEFORE, reference=source, is_named=True)


def _least(one: _Candidate) -> float:
    if one.literal:
        return _LEAST_LITERAL if one.inp.is_required else _OPTIONAL_LITERAL
    if one.inp.is_required:
        return _LEAST_ID if one.inp.is_opaque else _LEAST_REFERENCE
    return _OPTIONAL_ID if one.inp.is_opaque else _OPTIONAL_REFERENCE
