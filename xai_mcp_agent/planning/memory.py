"""What was learned from plans that worked: tools, sources, order, and requests. Never a value.

Of a plan are kept the words of its request, its tools in their order, and for each argument whether
it was given or which field of which tool's result it came from. All of it is bounded: the oldest
request goes first.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Collection, Container, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, cast

from ..core.json import as_list
from ..search.terms import root, terms
from ..search.tools import remembered_terms
from .plan import EARLIER, FromResult, Given, Missing, Parts, Plan, PlannedCall, Source, used_in
from .ports import MAX_INPUTS, Output, output_of, outputs_of
from .shapes import ANY, Shape, joined

MAX_PLANS = 5_000
_MOST_FIELDS = 40  # of one tool's result
_NEIGHBOURS = 5
_MOST_PARTS = 5  # one in the other
_ENOUGH, _ENOUGH_TOGETHER = 3, 2  # one coincidence says nothing
_LEAST_USUAL, _USUALLY = 2, 0.5  # calls that had a parameter, and of how many
_SHARPNESS = 2  # how much more the nearest of them says than the next
_MOST_GUESSES, _MOST_COMPARED = 200, 50
_ALWAYS_GUESSED, _GUESSED_EACH = 400, 10  # of the first all, then some: it takes a while
_DOUBT = 2.0  # guesses that failed, before there were any
_USUAL_NEARNESS = 0.58  # of a plan that was made without a memory, as measured
_CLASSES = (0.15, 0.3, 0.45, 0.6)  # of similar requests
GIVEN = "(given)"
"""In place of a producer: the argument was given."""


@dataclass(frozen=True, slots=True)
class Run:
    """A plan that worked, as it is remembered."""

    roots: frozenset[str]
    tools: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """How often a parameter took its value from a field of a tool's result, of so many times."""

    field: str | None
    times: int
    of: int

    @property
    def share(self) -> float:
        """How sure it is, 0 to 1: few observations say little."""
        return self.times / (self.of + 1.0)


class Memory:
    """What the runs so far teach. Not for several threads at once."""

    def __init__(self) -> None:
        self._runs: OrderedDict[int, Run] = OrderedDict()
        self._number = 0
        self._by_root: dict[str, set[int]] = {}
        self._words: dict[Any, Counter[str]] = {}
        self._weights: dict[Any, Mapping[str, float]] = {}
        self._calls = Counter[Any]()
        self._together: dict[Any, Counter[Any]] = {}
        self._followed: dict[Any, Counter[Any]] = {}
        self._first = Counter[Any]()
        self._sources: dict[tuple[Any, str], Counter[tuple[Any, str | None]]] = {}
        self._parameters: dict[Any, Counter[str]] = {}
        self._made = Counter[Any]()  # calls with arguments
        self._fields: dict[Any, Counter[str]] = {}
        self._shapes: dict[Any, Shape] = {}
        self._outputs: dict[Any, tuple[Output, ...]] = {}
        self._before: dict[Any, Counter[Any]] = {}
        self._words_alone: list[float] = []
        self._guessed: dict[int, list[float]] = {}  # how near guesses came, by similarity

    def __len__(self) -> int:
        return len(self._runs)

    def learn(self, plan: Plan) -> None:
        """Remember a plan that worked."""
        tools = tuple(x.tool for x in plan.calls)
        if not tools:
            return
        words = terms(plan.request)
        if words:  # else nobody could have guessed it, nor finds it by its request
            if self._number < _ALWAYS_GUESSED or self._number % _GUESSED_EACH == 0:
                self._guess(plan.request, {*tools})
            self._keep(Run(frozenset(root(x) for x in words), tools))
        for tool in dict.fromkeys(tools):
            self._words.setdefault(tool, Counter()).update(words)
            self._weights.pop(tool, None)
            self._calls[tool] += 1
            self._together.setdefault(tool, Counter()).update(x for x in {*tools} if x != tool)
        self._first[tools[0]] += 1
        once = list(dict.fromkeys(tools))
        for n, one in enumerate(once):
            self._before.setdefault(one, Counter()).update(once[n + 1 :])
        for one, following in pairwise(tools):
            self._followed.setdefault(one, Counter())[following] += 1
        for call in plan.calls:
            self._made[call.tool] += bool(call.arguments)
            for name, source in call.arguments.items():
                self._learn_source(plan, call.tool, name, source)

    def _guess(self, request: str, tools: set[Any]) -> None:
        """See how well the earlier ones would have foretold this plan: so far they are trusted."""
        votes, similarity = self.votes(request)
        guess = {x for x, vote in votes.items() if vote >= 0.5}
        said = self._guessed.setdefault(_class_of(similarity), [])
        said.append(_nearness(guess, tools))
        del said[:-_MOST_GUESSES]

    def trust(self, similarity: float) -> float:
        """How near plans for requests of such a similarity came to what was needed, 0 to 1.

        0 where too few were seen: an agent that is asked the same twice makes the same mistake.
        """
        said = self._guessed.get(_class_of(similarity), [])
        return sum(said) / (len(said) + _DOUBT) if len(said) >= _ENOUGH else 0.0

    @property
    def wants_comparison(self) -> bool:
        """Whether it is still to be told how near plans without it come."""
        return len(self._words_alone) < _MOST_COMPARED

    def compare(self, guess: Collection[Any], tools: Collection[Any]) -> None:
        """Be told which tools a plan had that was made without it, and which it should have had."""
        self._words_alone.append(_nearness({*guess}, {*tools}))

    @property
    def words_alone(self) -> float:
        """How near plans come that are made without it, 0 to 1."""
        said = self._words_alone
        return (sum(said) + _USUAL_NEARNESS * _DOUBT) / (len(said) + _DOUBT)

    def is_before(self, one: Any, other: Any) -> bool:
        """Whether one tool mostly came before another one."""
        there, back = (self._before.get(x, Counter[Any]()) for x in (one, other))
        return there[other] > back[one]

    def _keep(self, run: Run) -> None:
        self._number += 1
        self._runs[self._number] = run
        for x in run.roots:
            self._by_root.setdefault(x, set()).add(self._number)
        if len(self._runs) > MAX_PLANS:
            number, oldest = self._runs.popitem(last=False)
            for x in oldest.roots:
                self._by_root[x].discard(number)

    def _learn_source(self, plan: Plan, tool: Any, name: str, source: Source) -> None:
        seen = self._sources.setdefault((tool, name), Counter())
        named = self._parameters.setdefault(tool, Counter())
        if not isinstance(source, Missing) and (name in named or len(named) < MAX_INPUTS):
            named[name] += 1
        if isinstance(source, Parts):  # the first that refers to a call counts
            source = next(used_in(source), next(iter(source.parts), source))
        if isinstance(source, FromResult):
            if source.call == EARLIER:
                return
            producer = plan.calls[source.call].tool
            seen[producer, source.field] += 1
            fields = self._fields.setdefault(producer, Counter())
            self._outputs.pop(producer, None)
            if source.field and (source.field in fields or len(fields) < _MOST_FIELDS):
                fields[source.field] += 1
        elif isinstance(source, Given):
            seen[GIVEN, None] += 1

    def words(self) -> Mapping[Any, Mapping[str, float]]:
        """What was asked for when tools were used, as `ToolIndex` takes it."""
        for tool in self._words.keys() - self._weights.keys():
            self._weights[tool] = remembered_terms(self._words[tool])
        return self._weights

    def source(self, consumer: Any, parameter: str, producer: Any) -> Seen | None:
        """How often a parameter came from this producer, of all the times it came from anywhere."""
        seen = self._sources.get((consumer, parameter))
        if not seen or seen.total() < _ENOUGH:
            return None
        fields = {field: n for (tool, field), n in seen.items() if tool == producer}
        if not fields:
            return Seen(None, 0, seen.total())
        best = max(fields, key=lambda x: (fields[x], x or ""))
        return Seen(best, sum(fields.values()), seen.total())

    def producer(self, consumer: Any, parameter: str) -> Any | None:
        """The tool that a parameter mostly came from, or `GIVEN`; None if too little was seen."""
        seen = self._sources.get((consumer, parameter))
        if not seen or seen.total() < _ENOUGH:
            return None
        producers = Counter[Any]()
        for (tool, _), n in seen.items():
            producers[tool] += n
        return max(producers, key=lambda x: (producers[x], str(x)))

    def producers(self, consumer: Any, parameter: str) -> int:
        """From how many different tools a parameter took its value."""
        return len({tool for tool, _ in self._sources.get((consumer, parameter), ())} - {GIVEN})

    def usual(self, tool: Any) -> list[str]:
        """The parameters that most calls of a tool had, those first that most had."""
        seen = self._parameters.get(tool, Counter[str]())
        least = max(_LEAST_USUAL, self._made[tool] * _USUALLY)
        return sorted((x for x in seen if seen[x] >= least), key=lambda x: (-seen[x], x))

    def observe(self, tool: Any, shape: Shape) -> None:
        """See the shape of a result that a tool gave."""
        before = self._shapes.get(tool)
        self._shapes[tool] = joined((before, shape)) if before else shape
        self._outputs.pop(tool, None)

    def outputs(self, tool: Any) -> tuple[Output, ...]:
        """What was seen in a tool's results, and what was taken from them: that is an id mostly."""
        if tool not in self._outputs:
            found = {x.path: x for x in outputs_of(self._shapes.get(tool, ANY))}
            for path in self._fields.get(tool, ()):
                found[path] = replace(found.get(path) or output_of(path, ANY), is_opaque=True)
            self._outputs[tool] = tuple(found.values())
        return self._outputs[tool]

    def uses(self, tool: Any) -> int:
        """In how many plans a tool was."""
        return self._calls[tool]

    def companions(self, tools: Collection[Any], least: float) -> Iterator[tuple[Any, Any, int]]:
        """Tools that mostly came along with one of these, with that one and how often."""
        for tool in list(tools):
            uses = self._calls[tool]
            if uses < _ENOUGH_TOGETHER:
                continue
            for other, n in sorted(self._together[tool].items(), key=lambda x: (-x[1], str(x[0]))):
                if n >= _ENOUGH_TOGETHER and n / uses >= least and other not in tools:
                    yield other, tool, n

    def follows(self, tool: Any | None) -> Counter[Any]:
        """What came next after a tool, or first of all, and how often."""
        return self._first if tool is None else self._followed.get(tool, Counter())

    def nearest(self, request: str) -> list[tuple[float, Run]]:
        """The plans for the most similar requests, with how similar they are, 0 to 1."""
        wanted = frozenset(root(x) for x in terms(request))
        own = self._weight(wanted)
        scores: dict[int, float] = {}
        for x in sorted(wanted):
            weight = self._rarity(x)
            for number in self._by_root.get(x, ()):
                scores[number] = scores.get(number, 0.0) + weight
        best = sorted(scores, key=lambda x: (-scores[x], -x))[: _NEIGHBOURS * 4]
        found = [
            (scores[x] / math.sqrt(own * self._weight(self._runs[x].roots) or 1.0), x) for x in best
        ]
        found.sort(key=lambda x: (-x[0], -x[1]))
        return [(score, self._runs[x]) for score, x in found[:_NEIGHBOURS]]

    def votes(
        self, request: str, there: Container[Any] | None = None
    ) -> tuple[dict[Any, float], float]:
        """How far plans for similar requests had each tool, 0 to 1; and how similar the best is.

        Of plans with tools that are not `there` nothing is said: others did their work.
        """
        near = [
            (score, run)
            for score, run in self.nearest(request)
            if there is None or all(x in there for x in run.tools)
        ]
        whole = sum(score**_SHARPNESS for score, _ in near)
        votes: dict[Any, float] = {}
        for score, run in near:
            for tool in {*run.tools}:
                votes[tool] = votes.get(tool, 0.0) + score**_SHARPNESS / whole
        return votes, near[0][0] if near else 0.0

    def _rarity(self, word: str) -> float:
        return math.log(1 + len(self._runs) / (len(self._by_root.get(word, ())) + 1))

    def _weight(self, words: Iterable[str]) -> float:
        return sum(map(self._rarity, words))


def _class_of(similarity: float) -> int:
    return sum(similarity >= x for x in _CLASSES)


def _nearness(guess: set[Any], tools: set[Any]) -> float:
    return 2 * len(guess & tools) / (len(guess) + len(tools)) if guess or tools else 1.0


def plan_from(value: Mapping[str, Any]) -> Plan:
    """A plan to learn from, of a dict with `request` and `calls`; see `plan` for their form.

    Nothing is wrong with it: what cannot be read, or refers to no call, is left out. Of several
    parts the first that refers to a call counts.
    """
    calls = [
        x
        for x in map(_object, as_list(value.get("calls")))
        if isinstance(x.get("tool", []), Hashable)
    ]
    return Plan(
        str(value.get("request") or ""),
        tuple(
            PlannedCall(x["tool"], str(x["tool"]), dict(_sources(x.get("args"), len(calls))))
            for x in calls
        ),
        is_rough=False,
    )


def _sources(arguments: Any, count: int) -> Iterator[tuple[str, Source]]:
    for name, told in _object(arguments).items():
        known = source_from(told) if isinstance(told, Mapping) else None
        if (source := known and _first(known, count)) is not None:
            yield name, source


def _first(source: Source, count: int) -> Source | None:
    """The first of its parts that refers to one of so many calls, else the first there is."""
    match source:
        case Parts(parts):
            found = [x for x in (_first(part, count) for part in parts) if x is not None]
            return next((x for x in found if isinstance(x, FromResult)), next(iter(found), None))
        case FromResult(call):
            return source if 0 <= call < count else None
        case Missing():
            return None
        case _:
            return source


def source_from(told: Any, depth: int = 0) -> Source | None:
    """The source that is written so; None if it is none. What is no object is a value itself."""
    if not isinstance(told, Mapping):
        return Given(told)
    known = cast("Mapping[str, Any]", told)
    reasons = tuple(x for x in as_list(known.get("reasons")) if isinstance(x, str))
    call, score = known.get("call"), known.get("score")
    if isinstance(call, int) and not isinstance(call, bool):
        field, how = known.get("field"), known.get("conversion")
        return FromResult(
            call,
            field if isinstance(field, str) else None,
            how if isinstance(how, str) else "",
            float(score) if isinstance(score, int | float) else 0.0,
            reasons,
        )
    if "value" in known:
        return Given(known["value"], reasons)
    if "missing" in known:
        return Missing(str(known["missing"]))
    if isinstance(known.get("parts"), list) and depth < _MOST_PARTS:
        parts = [source_from(x, depth + 1) for x in as_list(known["parts"])]
        found = tuple(x for x in parts if x is not None)
        return Parts(found) if len(found) == len(parts) else None
    return None


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
