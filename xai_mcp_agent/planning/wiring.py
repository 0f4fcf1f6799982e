"""From where each argument of given calls comes: the request, or the result of an earlier call.

Every value that the request says and every earlier call is a candidate for every parameter. The
best pairs come first; a value is used once in a call, and so is a result that nothing names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .choosing import Choice
from .flows import NUMBERS, Flow, Flows
from .literals import Literal, literals_for
from .plan import FromResult, Given, Missing, Source
from .schema_ports import Input, Output, ToolPorts, is_generic

if TYPE_CHECKING:
    from .request import Request, Step

# The least that a candidate must have, by what the parameter is and where the value comes from. An
# id that nobody said is in some earlier result: without it the call could not be made at all.
_LEAST_REFERENCE, _LEAST_LITERAL, _LEAST_ID = 0.47, 0.35, 0.25
_OPTIONAL_ID, _OPTIONAL_REFERENCE, _OPTIONAL_LITERAL = 0.9, 1.3, 0.7
# More for a result that the step names, points at, or calls a result; for a later one among equals.
_MENTIONED, _POINTED_BACK, _AT_RESULT, _NAMED_RESULT, _RECENT = 0.3, 0.05, 0.12, 0.2, 0.02
# Less for a value that another step says, or that another call has taken already.
_ELSEWHERE, _USED_HERE, _USED_ELSEWHERE = 0.6, 0.7, 0.45
_OF_A_WRITER, _SAME_AS_BEFORE = 0.75, 0.05
_WORKED_OUT = 0.3
_LOOKED_BACK = 12  # calls before one, whose results it may use


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A source that an input might have, and how good it is.

    Of a value it is known where the request says it; `is_named`: a name says that this result is
    what is wanted.
    """

    inp: Input
    score: float
    source: Given | FromResult
    place: int = -1
    is_named: bool = False

    @property
    def is_enough(self) -> bool:
        """Whether it is good enough for such a parameter."""
        if isinstance(self.source, Given):
            least = _LEAST_LITERAL if self.inp.is_required else _OPTIONAL_LITERAL
        elif self.inp.is_opaque:
            least = _LEAST_ID if self.inp.is_required else _OPTIONAL_ID
        else:
            least = _LEAST_REFERENCE if self.inp.is_required else _OPTIONAL_REFERENCE
        return self.score >= least


@dataclass(slots=True)
class _Taken:
    """What the parameters of one call have, and which values and results are used by it."""

    sources: dict[str, Source] = field(default_factory=dict[str, Source])
    used: set[object] = field(default_factory=set[object])

    def offer(self, one: _Candidate) -> bool:
        """Let the parameter have it, if both are still free."""
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
        self._users: dict[int, set[str]] = {}  # parameters that took what is said at a place
        self._literals: dict[tuple[Any, str, int], list[Literal]] = {}
        self._best: dict[tuple[Any, Any, str, int], tuple[float, Flow] | None] = {}

    def sources(self) -> list[dict[str, Source]]:
        """The sources, by call."""
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
                yield _Candidate(inp, score, Given(x.value, (x.reason,)), x.place)
        for earlier in range(max(number - _LOOKED_BACK, 0), number):
            if found := self._reference(number, earlier, inp):
                yield found

    def _literals_of(self, tool: ToolPorts, inp: Input, step: Step) -> list[Literal]:
        """What a step says that may be an input; looked at once for all calls of a tool."""
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
            if isinstance(own, Given) and producer.looks_up and not inp.shape.format:
                return None  # it was told the same, and only says it again
        found = self._flow(producer, self._calls[number], inp)
        if found is None:
            return None
        worth, flow = found
        score = self._score(worth, number, earlier)
        source = FromResult(
            earlier, flow.field or None, flow.conversion, min(score, 1.0), flow.reasons
        )
        return _Candidate(inp, score, source, is_named=bool(flow.reasons))

    def _score(self, worth: float, number: int, earlier: int) -> float:
        """How good a reference is, by all that speaks for it."""
        step = self._calls[number].step
        score = worth + _RECENT * (earlier + 1) / number
        if not self._calls[earlier].ports.reads:
            score *= _OF_A_WRITER
        if step is not None and earlier == number - 1:
            score += _POINTED_BACK * step.points_back + _AT_RESULT * step.points_at_result
            score += _NAMED_RESULT * step.names_result
        return score

    def _flow(self, producer: ToolPorts, consumer: Choice, inp: Input) -> tuple[float, Flow] | None:
        """What a tool gives that serves an input best, and how well."""
        step = consumer.step
        key = producer.key, consumer.ports.key, inp.name, step.start if step else -1
        if key not in self._best:
            found: list[tuple[float, Flow]] = []
            for out in producer.outputs:
                if flow := self._flows.flow(producer, out, consumer.ports, inp):
                    # What flows counts more than the exact type: that is seldom declared.
                    worth = flow.score / flow.fit**0.5
                    if step is not None:
                        worth += _MENTIONED * self._mentioned(producer, out, consumer.ports, step)
                    found.append((worth, flow))
            self._best[key] = max(found, key=lambda x: x[0], default=None)
        return self._best[key]

    def _mentioned(
        self, producer: ToolPorts, out: Output, consumer: ToolPorts, step: Step
    ) -> float:
        """How much of what names an output or its tool a step says, beside its own tool's name."""
        return max(
            self._flows.said_share(
                (x for x in words if x not in consumer.name_words and not is_generic(x)), step.roots
            )
            for words in (out.words, producer.entity)
        )

    def _worked_out(self, number: int, inp: Input) -> FromResult | None:
        """A number that nobody says, and that no name finds: the last one that was worked out."""
        if not {*inp.shape.kinds} & {*NUMBERS} or not all(map(is_generic, inp.words)):
            return None
        for earlier in reversed(range(max(number - _LOOKED_BACK, 0), number)):
            producer, roots = self._calls[earlier].ports, self._request.roots
            numbers = [x for x in producer.outputs if _is_amount(x)]
            best = max(numbers, key=lambda x: self._flows.said_share(x.words, roots), default=None)
            if best:
                reason = f"{producer.name} works out {best.path!r}, and nothing else says it"
                return FromResult(earlier, best.path or None, "", _WORKED_OUT, (reason,))
        return None


def _same(inp: Input, source: Source | None) -> _Candidate | None:
    """An id that an earlier call has, too, comes from where that one has it from."""
    if not isinstance(source, FromResult):
        return None
    return _Candidate(inp, source.score + _SAME_AS_BEFORE, source, is_named=True)


def _is_amount(output: Output) -> bool:
    """A number that counts or measures, and is no id."""
    is_number = bool({*output.shape.kinds} & {*NUMBERS})
    return is_number and not output.is_opaque and "[]" not in output.path
