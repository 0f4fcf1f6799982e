"""A plan: which tools are called, what with, and from where each argument comes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from ..core.json import as_list

EARLIER = -1
"""For the `call` of a `FromResult`: none of the plan, but one that was made before it."""
_MOST_PARTS_IN_PARTS = 5


@dataclass(frozen=True, slots=True)
class Given:
    """An argument that the request says, or that was worked out from it."""

    value: Any
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FromResult:
    """An argument that is taken from the result of an earlier call, by its position in the plan.

    `field` is a path in that result, such as `orders[].id`, where `[]` is one of several; None
    means all of it, or that nobody knows where in it. `conversion` says what has to be done to it.

    A careful plan says how the request refers to it, for who looks into the result: `said` are its
    words (`it`, `title`), `otherwise` the value where the result has nothing that is called so, and
    `named` is the name of the one thing meant, of several in the result. Its `call` is `EARLIER`
    where only what was there before the plan can be meant.
    """

    call: int
    field: str | None = None
    conversion: str = ""
    score: float = 0.0
    reasons: tuple[str, ...] = ()
    said: str = ""
    otherwise: Any = None
    named: str = ""


@dataclass(frozen=True, slots=True)
class Missing:
    """An argument that must be given, and that neither the request nor an earlier call gives."""

    reason: str


@dataclass(frozen=True, slots=True)
class Parts:
    """An argument that is a list of several sources. Only a person writes one, no planner does."""

    parts: tuple[Source, ...]


Source: TypeAlias = Given | FromResult | Missing | Parts


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call. `tool` is its key (a dict's `id`); `arguments` are sources by parameter.

    `confidence` is 0 to 1, and says how well the words of the request fit this tool. A careful plan
    has the words that ask for it as `said`; so many calls as `after` says must be done before it.
    A call that only `looks` is one of several for the same words, whose results tell which of them
    answers: one that says what was `sought`.
    """

    tool: Any
    name: str
    arguments: Mapping[str, Source]
    reasons: tuple[str, ...] = ()
    confidence: float = 0.0
    said: str = ""
    after: int = 0
    looks: bool = False
    sought: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unmatched:
    """Words of a request that no tool surely serves; `query` is what to search one by."""

    said: str
    query: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """What one call gives is used by another one; both are positions in the plan."""

    producer: int
    consumer: int
    parameter: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Calls in their order. `problems` are what somebody must see to before it can run.

    `is_rough` says that words and shapes made it, and no language model nor person. `failed` says
    why servers could not be used for it. Only a careful plan has words that are `unmatched`, and
    says how many further parts were `left_out`.
    """

    request: str
    calls: tuple[PlannedCall, ...] = ()
    problems: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    is_rough: bool = True
    unmatched: tuple[Unmatched, ...] = ()
    left_out: int = 0
    failed: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Which call uses the result of which."""
        return tuple(
            Edge(used.call, number, name)
            for number, call in enumerate(self.calls)
            for name, source in call.arguments.items()
            for used in used_in(source)
            if used.call != EARLIER
        )


def used_in(source: Source) -> Iterator[FromResult]:
    """All that a source takes from results, in its order."""
    if isinstance(source, FromResult):
        yield source
    elif isinstance(source, Parts):
        for part in source.parts:
            yield from used_in(part)


def lacking(calls: Sequence[PlannedCall]) -> Iterator[str]:
    """A line for each call that somebody must give something to."""
    for number, call in enumerate(calls, 1):
        names = [repr(x) for x, source in call.arguments.items() if missing_in(source)]
        if names:
            yield f"Call {number}, {call.name}: you must give {', '.join(names)}."


def missing_in(source: Source) -> str:
    """Why an argument must be given; empty if it need not be."""
    match source:
        case Missing(reason):
            return reason or "the plan says so"
        case Parts(parts):
            return next((why for x in parts if (why := missing_in(x))), "")
        case _:
            return ""


def plan_from(value: Mapping[str, Any]) -> Plan:
    """A plan to learn from, of a dict with `request` and `calls`; see `plan_file` for their form.

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
    if isinstance(known.get("parts"), list) and depth < _MOST_PARTS_IN_PARTS:
        parts = [source_from(x, depth + 1) for x in as_list(known["parts"])]
        found = tuple(x for x in parts if x is not None)
        return Parts(found) if len(found) == len(parts) else None
    return None


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
