"""A plan: which tools are called, what with, and from where each argument comes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

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
    """

    call: int
    field: str | None = None
    conversion: str = ""
    score: float = 0.0
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Missing:
    """An argument that must be given, and that neither the request nor an earlier call gives."""

    reason: str


Source: TypeAlias = Given | FromResult | Missing


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call. `tool` is its key (a dict's `id`); `arguments` are sources by parameter.

    `confidence` is 0 to 1, and says how well the words of the request fit this tool.
    """

    tool: Any
    name: str
    arguments: Mapping[str, Source]
    reasons: tuple[str, ...] = ()
    confidence: float = 0.0


@dataclass(frozen=True, slots=True)
class Edge:
    """What one call gives is used by another one; both are positions in the plan."""

    producer: int
    consumer: int
    parameter: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Calls in their order. `problems` are what somebody must see to before it can run.

    `is_rough` says that words and shapes made it, and no language model nor person.
    """

    request: str
    calls: tuple[PlannedCall, ...] = ()
    problems: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    is_rough: bool = True

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Which call uses the result of which."""
        return tuple(
            Edge(source.call, number, name)
            for number, call in enumerate(self.calls)
            for name, source in call.arguments.items()
            if isinstance(source, FromResult)
        )


def plan_from(value: Mapping[str, Any]) -> Plan:
    """A plan of a dict with `request` and `calls`, each with `tool` and perhaps `args`.

    An argument is `{"value": anything}`, `{"call": position, "field": path}`, or `{"parts": [...]}`
    with several of these, of which the first that refers to a call counts. All else is left out.
    """
    calls = [x for x in map(_object, _list(value.get("calls"))) if "tool" in x]
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
        if (source := _source(_object(told), count)) is not None:
            yield name, source


def _source(told: Mapping[str, Any], count: int, depth: int = 0) -> Source | None:
    call, field = told.get("call"), told.get("field")
    if isinstance(call, int) and 0 <= call < count:
        return FromResult(call, field if isinstance(field, str) else None)
    if "value" in told or depth > _MOST_PARTS_IN_PARTS:
        return Given(told.get("value"))
    parts = [_source(_object(x), count, depth + 1) for x in _list(told.get("parts"))]
    referring = (x for x in parts if isinstance(x, FromResult))
    return next(referring, None) or next((x for x in parts if x), None)


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
