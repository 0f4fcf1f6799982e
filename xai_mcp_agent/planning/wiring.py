"""Sources of the arguments of calls: the request, or the result of an earlier call.

Every value in the request and every earlier call is a candidate for every parameter. The best pairs
come first; a call uses a value once, and a result without a matching name once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .choosing import ToolForStep
from .flows import Flow, Flows
from .literals import Literal, literals_for
from .plan import FromResult, Missing, Source, Value
from .schema_ports import Input, Output, ToolPorts
from .vocabulary import is_generic

if TYPE_CHECKING:
    from .request import PlanRequest, RequestStep

# Minimum scores by the kind of parameter and of source. An id that is not in the request is in some
# earlier result: without it the call could not be made at all.
_LEAST_REFERENCE, _LEAST_LITERAL, _LEAST_ID = 0.47, 0.35, 0.25
_OPTIONAL_ID, _OPTIONAL_REFERENCE, _OPTIONAL_LITERAL = 0.9, 1.3, 0.7
# Bonuses for a result that the step mentions, points at, or calls a result; and for a later one.
_MENTIONS, _POINTS_BACK, _POINTS_AT_RESULT, _NAMES_RESULT, _RECENT = 0.3, 0.05, 0.12, 0.2, 0.02
# Penalties for a value of another step, or one that another call uses.
_OTHER_STEP, _IN_USE, _OTHER_STEP_IN_USE = 0.6, 0.7, 0.45
_WRITER, _SAME_AS_BEFORE = 0.75, 0.05
_COMPUTED = 0.3
_NO_PLACE = -1  # place of a value that the request does not contain
_MOST_EARLIER = 12  # calls whose results are candidates


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Candidate source of an input, and its score.

    A value has its `place` in the request; `is_named`: the result has a matching name.
    """

    inp: Input
    score: float
    source: Value | FromResult
    place: int = _NO_PLACE
    is_named: bool = False

    @property
    def is_enough(self) -> bool:
        """Return whether its score suffices for its kind of parameter."""
        if isinstance(self.source, Value):
            least = _LEAST_LITERAL if self.inp.is_required else _OPTIONAL_LITERAL
        elif self.inp.is_opaque:
            least = _LEAST_ID if self.inp.is_required else _OPTIONAL_ID
        else:
            least = _LEAST_REFERENCE if self.inp.is_required else _OPTIONAL_REFERENCE
        return self.score >= least

    @property
    def origin(self) -> object:
        """Return the result, or the place in the request, that a call uses once."""
        if isinstance(self.source, FromResult):
            return self.source.call, self.source.field
        return self.place

    @property
    def may_repeat(self) -> bool:
        """Return whether a call may use its origin again."""
        return self.is_named or self.origin == _NO_PLACE


class Wiring:
    """Finds the sources of all arguments of some calls, one call after the other."""

    def __init__(self, flows: Flows, request: PlanRequest, calls: Sequence[ToolForStep]) -> None:
        self._flows, self._request, self._calls = flows, request, calls
        self._sources: list[dict[str, Source]] = []
        self._users: dict[int, set[str]] = {}  # parameters that use the value at a position
        self._literals: dict[tuple[Any, str, int], list[Literal]] = {}
        self._best: dict[tuple[Any, Any, str, int], tuple[float, Flow] | None] = {}

    def sources(self) -> list[dict[str, Source]]:
        """Return the sources, by call."""
        for number in range(len(self._calls)):
            self._sources.append(self._of_call(number))
        return self._sources

    def _of_call(self, number: int) -> dict[str, Source]:
        ports = self._calls[number].ports
        candidates = [x for inp in ports.inputs for x in self._candidates(number, inp)]
        sources: dict[str, Source] = {}
        used = set[object]()
        for one in sorted(candidates, key=lambda x: -x.score):
            is_free = one.may_repeat or one.origin not in used
            if one.inp.name in sources or not one.is_enough or not is_free:
                continue
            sources[one.inp.name] = one.source
            used.add(one.origin)
            if one.place != _NO_PLACE:
                self._users.setdefault(one.place, set()).add(one.inp.name)
        for inp in ports.required:
            if inp.name not in sources:
                missing = Missing(f"nothing says {inp.name!r}")
                sources[inp.name] = self._computed(number, inp) or missing
        return {x.name: sources[x.name] for x in ports.inputs if x.name in sources}

    def _candidates(self, number: int, inp: Input) -> Iterator[_Candidate]:
        call = self._calls[number]
        for step in self._request.steps:
            for x in self._literals_of(call.ports, inp, step):
                score = x.score * self._nearness(x, inp, is_here=step is call.step)
                yield _Candidate(inp, score, Value(x.value, (x.reason,)), x.place)
        for earlier in range(max(number - _MOST_EARLIER, 0), number):
            if reference := self._reference(number, earlier, inp):
                yield reference

    def _literals_of(self, tool: ToolPorts, inp: Input, step: RequestStep) -> list[Literal]:
        """Return values of a step as candidates; computed once for all calls of a tool."""
        key = tool.key, inp.name, step.start
        if key not in self._literals:
            self._literals[key] = literals_for(inp, step, self._request)
        return self._literals[key]

    def _nearness(self, literal: Literal, inp: Input, *, is_here: bool) -> float:
        if inp.is_opaque:  # an id belongs to a thing, not to a step
            return 1.0
        users = self._users.get(literal.place, ())
        is_in_use = bool(users) and (inp.name not in users or all(map(is_generic, inp.words)))
        if is_here:
            return _IN_USE if is_in_use else 1.0
        return _OTHER_STEP_IN_USE if is_in_use else _OTHER_STEP

    def _reference(self, number: int, earlier: int, inp: Input) -> _Candidate | None:
        producer = self._calls[earlier].ports
        if inp.name in producer.by_name:
            own = self._sources[earlier].get(inp.name)
            if inp.is_opaque:
                return _same(inp, own)
            if isinstance(own, Value) and producer.looks_up and not inp.shape.format:
                return None  # its result only repeats this input
        best = self._flow(producer, self._calls[number], inp)
        if best is None:
            return None
        worth, flow = best
        score = self._score(worth, number, earlier)
        source = FromResult(
            earlier, flow.field or None, flow.conversion, min(score, 1.0), flow.reasons
        )
        return _Candidate(inp, score, source, is_named=bool(flow.reasons))

    def _score(self, worth: float, number: int, earlier: int) -> float:
        """Return the score of a reference, with all bonuses."""
        step = self._calls[number].step
        score = worth + _RECENT * (earlier + 1) / number
        if not self._calls[earlier].ports.reads:
            score *= _WRITER
        if step is not None and earlier == number - 1:
            score += _POINTS_BACK * step.points_back + _POINTS_AT_RESULT * step.points_at_result
            score += _NAMES_RESULT * step.names_result
        return score

    def _flow(
        self, producer: ToolPorts, consumer: ToolForStep, inp: Input
    ) -> tuple[float, Flow] | None:
        """Return the best output of a tool for an input, with its score."""
        step = consumer.step
        key = producer.key, consumer.ports.key, inp.name, step.start if step else -1
        if key not in self._best:
            flows: list[tuple[float, Flow]] = []
            for out in producer.outputs:
                if flow := self._flows.flow(producer, out, consumer.ports, inp):
                    # The words count more than the exact type, which is seldom declared.
                    worth = flow.score / flow.fit**0.5
                    if step is not None:
                        worth += _MENTIONS * self._mention_share(
                            producer, out, consumer.ports, step
                        )
                    flows.append((worth, flow))
            self._best[key] = max(flows, key=lambda x: x[0], default=None)
        return self._best[key]

    def _mention_share(
        self, producer: ToolPorts, out: Output, consumer: ToolPorts, step: RequestStep
    ) -> float:
        """Return the share of an output's names in the step, without its own tool's words."""
        return max(
            self._flows.covered_share(
                (x for x in words if x not in consumer.name_words and not is_generic(x)), step.roots
            )
            for words in (out.words, producer.entity)
        )

    def _computed(self, number: int, inp: Input) -> FromResult | None:
        """Return the last computed number, for a number without a value or a matching name."""
        if not inp.shape.is_number or not all(map(is_generic, inp.words)):
            return None
        for earlier in reversed(range(max(number - _MOST_EARLIER, 0), number)):
            producer, roots = self._calls[earlier].ports, self._request.roots
            numbers = [x for x in producer.outputs if _is_amount(x)]
            best = max(
                numbers, key=lambda x: self._flows.covered_share(x.words, roots), default=None
            )
            if best:
                reason = f"{producer.name} computes {best.path!r}, and nothing else says it"
                return FromResult(earlier, best.path or None, "", _COMPUTED, (reason,))
        return None


def _same(inp: Input, source: Source | None) -> _Candidate | None:
    """Return the source of an id as in the earlier call that has it, too."""
    if not isinstance(source, FromResult):
        return None
    return _Candidate(inp, source.score + _SAME_AS_BEFORE, source, is_named=True)


def _is_amount(output: Output) -> bool:
    """Return whether it is a number that counts or measures, not an id."""
    return output.shape.is_number and not output.is_opaque and "[]" not in output.path
