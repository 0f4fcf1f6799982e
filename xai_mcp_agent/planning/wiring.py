"""Sources of the arguments of given calls: the request, or the result of an earlier call.

Every value in the request and every earlier call is a candidate for every parameter. The best pairs
come first; a value is used once in a call, and so is a result that nothing names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .choosing import Choice
from .flows import NUMBERS, Flow, Flows
from .literals import Literal, literals_for
from .plan import FromResult, Missing, Source, Value
from .schema_ports import Input, Output, ToolPorts, is_generic

if TYPE_CHECKING:
    from .request import Request, Step

# Minimum scores by the kind of parameter and of source. An id that the request does not contain is
# in some earlier result: without it the call could not be made at all.
_LEAST_REFERENCE, _LEAST_LITERAL, _LEAST_ID = 0.47, 0.35, 0.25
_OPTIONAL_ID, _OPTIONAL_REFERENCE, _OPTIONAL_LITERAL = 0.9, 1.3, 0.7
# Bonuses for a result that the step names, points at, or calls a result; and for a later one.
_MENTIONED, _POINTED_BACK, _AT_RESULT, _NAMED_RESULT, _RECENT = 0.3, 0.05, 0.12, 0.2, 0.02
# Penalties for a value of another step, or one that another call uses.
_ELSEWHERE, _USED_HERE, _USED_ELSEWHERE = 0.6, 0.7, 0.45
_OF_A_WRITER, _SAME_AS_BEFORE = 0.75, 0.05
_WORKED_OUT = 0.3
_LOOKED_BACK = 12  # earlier calls whose results are candidates


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Candidate source of an input, and its score.

    A value has its position in the request; `is_named`: a name says that this result is meant.
    """

    inp: Input
    score: float
    source: Value | FromResult
    place: int = -1
    is_named: bool = False

    @property
    def is_enough(self) -> bool:
        """Return whether its score suffices for such a parameter."""
        if isinstance(self.source, Value):
            least = _LEAST_LITERAL if self.inp.is_required else _OPTIONAL_LITERAL
        elif self.inp.is_opaque:
            least = _LEAST_ID if self.inp.is_required else _OPTIONAL_ID
        else:
            least = _LEAST_REFERENCE if self.inp.is_required else _OPTIONAL_REFERENCE
        return self.score >= least


@dataclass(slots=True)
class _Taken:
    """Sources chosen for one call, and the values and results in use."""

    sources: dict[str, Source] = field(default_factory=dict[str, Source])
    used: set[object] = field(default_factory=set[object])

    def offer(self, one: _Candidate) -> bool:
        """Assign the candidate to the parameter if both are free."""
        source, used = one.source, None
        if isinstance(source, FromResult):
            used = None if one.is_named else (source.call, source.field)
        elif one.place >= 0:
            used = one.place
        if one.inp.name in self.sources or not one.is_enough or (used in self.used):
            return False
        self.sources[one.inp.name] = source
        if isinstance(source, FromResult):
            self.used.add((source.call, source.field))
        elif used is not None:
            self.used.add(used)
        return True


class Wiring:
    """Finds the sources of all arguments of some calls, one call after the other."""

    def __init__(self, flows: Flows, request: Request, calls: Sequence[Choice]) -> None:
        self._flows, self._request, self._calls = flows, request, calls
        self._wired: list[dict[str, Source]] = []
        self._users: dict[int, set[str]] = {}  # parameters that use the value at a position
        self._literals: dict[tuple[Any, str, int], list[Literal]] = {}
        self._best: dict[tuple[Any, Any, str, int], tuple[float, Flow] | None] = {}

    def sources(self) -> list[dict[str, Source]]:
        """Return the sources, by call."""
        for number in range(len(self._calls)):
            self._wired.append(self._of_call(number))
        return self._wired

    def _of_call(self, number: int) -> dict[str, Source]:
        ports = self._calls[number].ports
        candidates = [x for inp in ports.inputs for x in self._candidates(number, inp)]
        taken = _Taken()
        for one in sorted(candidates, key=lambda x: -x.score):
            if taken.offer(one) and one.place >= 0:
                self._users.setdefault(one.place, set()).add(one.inp.name)
        for inp in ports.required:
            if inp.name not in taken.sources:
                missing = Missing(f"nothing says {inp.name!r}")
                taken.sources[inp.name] = self._worked_out(number, inp) or missing
        return {x.name: taken.sources[x.name] for x in ports.inputs if x.name in taken.sources}

    def _candidates(self, number: int, inp: Input) -> Iterator[_Candidate]:
        call = self._calls[number]
        for step in self._request.steps:
            for x in self._literals_of(call.ports, inp, step):
                score = x.score * self._nearness(x, inp, is_here=step is call.step)
                yield _Candidate(inp, score, Value(x.value, (x.reason,)), x.place)
        for earlier in range(max(number - _LOOKED_BACK, 0), number):
            if reference := self._reference(number, earlier, inp):
                yield reference

    def _literals_of(self, tool: ToolPorts, inp: Input, step: Step) -> list[Literal]:
        """Return values of a step as candidates; computed once for all calls of a tool."""
        key = tool.key, inp.name, step.start
        if key not in self._literals:
            self._literals[key] = literals_for(inp, step, self._request)
        return self._literals[key]

    def _nearness(self, literal: Literal, inp: Input, *, is_here: bool) -> float:
        if inp.is_opaque:  # an id belongs to a thing, not to a step
            return 1.0
        users = self._users.get(literal.place, ())
        is_used = bool(users) and (inp.name not in users or all(map(is_generic, inp.words)))
        if is_here:
            return _USED_HERE if is_used else 1.0
        return _USED_ELSEWHERE if is_used else _ELSEWHERE

    def _reference(self, number: int, earlier: int, inp: Input) -> _Candidate | None:
        producer = self._calls[earlier].ports
        if inp.name in producer.by_name:
            own = self._wired[earlier].get(inp.name)
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
            score *= _OF_A_WRITER
        if step is not None and earlier == number - 1:
            score += _POINTED_BACK * step.points_back + _AT_RESULT * step.points_at_result
            score += _NAMED_RESULT * step.names_result
        return score

    def _flow(self, producer: ToolPorts, consumer: Choice, inp: Input) -> tuple[float, Flow] | None:
        """Return the best output of a tool for an input, with its score."""
        step = consumer.step
        key = producer.key, consumer.ports.key, inp.name, step.start if step else -1
        if key not in self._best:
            flows: list[tuple[float, Flow]] = []
            for out in producer.outputs:
                if flow := self._flows.flow(producer, out, consumer.ports, inp):
                    # What flows counts more than the exact type: that is seldom declared.
                    worth = flow.score / flow.fit**0.5
                    if step is not None:
                        worth += _MENTIONED * self._mentioned(producer, out, consumer.ports, step)
                    flows.append((worth, flow))
            self._best[key] = max(flows, key=lambda x: x[0], default=None)
        return self._best[key]

    def _mentioned(
        self, producer: ToolPorts, out: Output, consumer: ToolPorts, step: Step
    ) -> float:
        """Return how much of an output's names the step contains, beside its own tool's name."""
        return max(
            self._flows.covered_share(
                (x for x in words if x not in consumer.name_words and not is_generic(x)), step.roots
            )
            for words in (out.words, producer.entity)
        )

    def _worked_out(self, number: int, inp: Input) -> FromResult | None:
        """Return the last computed number, for a number that no value and no name gives."""
        if not {*inp.shape.kinds} & {*NUMBERS} or not all(map(is_generic, inp.words)):
            return None
        for earlier in reversed(range(max(number - _LOOKED_BACK, 0), number)):
            producer, roots = self._calls[earlier].ports, self._request.roots
            numbers = [x for x in producer.outputs if _is_amount(x)]
            best = max(
                numbers, key=lambda x: self._flows.covered_share(x.words, roots), default=None
            )
            if best:
                reason = f"{producer.name} works out {best.path!r}, and nothing else says it"
                return FromResult(earlier, best.path or None, "", _WORKED_OUT, (reason,))
        return None


def _same(inp: Input, source: Source | None) -> _Candidate | None:
    """Reuse the source of an id that an earlier call has, too."""
    if not isinstance(source, FromResult):
        return None
    return _Candidate(inp, source.score + _SAME_AS_BEFORE, source, is_named=True)


def _is_amount(output: Output) -> bool:
    """Return whether it is a number that counts or measures, not an id."""
    is_number = bool({*output.shape.kinds} & {*NUMBERS})
    return is_number and not output.is_opaque and "[]" not in output.path
