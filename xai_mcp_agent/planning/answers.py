"""A plan as a model or a person writes it, in JSON of about the form that was asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from .plan import BadPlan

MOST_CALLS = 20
_MOST_ARGUMENTS = _MOST_PARTS = 100
_MOST_NAME = 300  # characters
_MOST_CHARACTERS = 20_000  # of a value, as JSON
_CALLS = ("calls", "plan", "steps", "actions", "tool_calls")
_TOOL = ("tool", "name", "tool_name", "function", "action")
_ARGUMENTS = ("arguments", "args", "parameters", "params", "inputs", "input")
_LABEL = ("call", "id", "step", "number", "n")
_REFERS = ("from", "call", "step")
_FIELD = ("field", "path", "output", "key")
_NUMBER = re.compile(r"\W{0,3}(?:call|step|id)?[ _.#-]{0,3}([0-9]{1,4})\W{0,3}", re.IGNORECASE)
_MOST_LISTS = 5  # one in the other
# `$1.orders[0].id`, `{{call_1.id}}`, `<result of call 1>`: other ways to say what was asked for.
_IN_TEXT = re.compile(
    r"\s*(?:\$\{?(?P<a>(?:call|step)[ _.#]*\d{1,3}|\d{1,3}(?=\}|\.[A-Za-z_\[]))"
    r"(?:\.(?P<af>[^\s{}$]{1,200}))?\}?"
    r"|\{\{\s*\$?(?P<b>(?:call|step)?[ _.#]*\d{1,3})(?:\.(?P<bf>[^\s{}]{1,200}))?\s*\}\}"
    r"|<(?:the )?(?:result|output)s? (?:of|from) (?:call|step) (?P<c>\d{1,3})>)\s*\Z",
    re.IGNORECASE,
)
# What stands for a value that whoever wrote it did not know.
_PLACE = re.compile(r"\s*(?:<[^<>\n]{1,60}>|\{\{[^{}\n]{1,60}\}\}|\.{3}|\?+|TODO|TBD)\s*\Z")
_HOLDS_PLACE = re.compile(r"\{\{[^{}\n]{1,60}\}\}|\$\{\d{1,3}[^{}\n]{0,60}\}")


@dataclass(frozen=True, slots=True)
class Refers:
    """What is taken from the result of the call with this label.

    `is_place` says that it is written as in a plan's file, where calls count from 0.
    """

    label: str
    field: str
    is_place: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """What was left open, and in which words."""

    told: str


@dataclass(frozen=True, slots=True)
class Written:
    """A value that stands there."""

    value: Any


@dataclass(frozen=True, slots=True)
class Several:
    """A list in which something is taken from a result."""

    parts: tuple[Refers | Written, ...]


Told: TypeAlias = Refers | Unknown | Written | Several
"""What is written of an argument."""


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call as it is written: nothing of it was checked."""

    label: str
    tool: str
    arguments: Mapping[str, Told]


def written_calls(answer: Any) -> tuple[list[WrittenCall], int]:
    """The calls in a value, in their order, at most so many; and how many more there were.

    Raises:
        BadPlan: there is none.
    """
    found = [x for x in map(_object, _listed(answer)) if _tool(x)]
    if not found:
        raise BadPlan("It names no call of a tool.")
    taken = found[:MOST_CALLS]
    told = [dict(_arguments(x)) for x in taken]
    labels = [_label(_first(x, _LABEL)) for x in taken]
    if not all(labels) or len({*labels}) < len(labels):
        labels = [str(n) for n in range(1, len(taken) + 1)]
        used = [y for one in told for x in one.values() for y in references(x)]
        if any(x.is_place or x.label == "0" for x in used):
            labels = [str(n) for n in range(len(taken))]
    calls = [WrittenCall(a, _tool(x), y) for a, x, y in zip(labels, taken, told, strict=True)]
    return calls, len(found) - len(calls)


def references(told: Told) -> tuple[Refers, ...]:
    """All that is taken from results."""
    if isinstance(told, Several):
        return tuple(x for x in told.parts if isinstance(x, Refers))
    return (told,) if isinstance(told, Refers) else ()


def _listed(answer: Any) -> list[Any]:
    if isinstance(answer, Mapping):
        value = _first(cast("Mapping[str, Any]", answer), _CALLS)
        if isinstance(value, Mapping):  # {"plan": {"calls": [...]}}
            value = _first(cast("Mapping[str, Any]", value), _CALLS)
        answer = [answer] if value is None and _first(_object(answer), _TOOL) else value
    return cast("list[Any]", answer) if isinstance(answer, list) else []


def _tool(call: Mapping[str, Any]) -> str:
    told = _first(call, _TOOL)
    inner = _first(_object(told), _TOOL) if isinstance(told, Mapping) else told
    return inner.strip()[:_MOST_NAME] if isinstance(inner, str) else ""


def _label(value: Any) -> str:
    """Of `call_1`, `#1` and `1` the same."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    number = _NUMBER.fullmatch(str(value)[:100])
    return str(int(number[1])) if number else ""


def _arguments(call: Mapping[str, Any]) -> Iterator[tuple[str, Told]]:
    given = _first(call, _ARGUMENTS)
    if given is None:  # as in calls of functions
        given = _first(_object(_first(call, _TOOL)), _ARGUMENTS)
    for name, value in list(_object(_read(given)).items())[:_MOST_ARGUMENTS]:
        yield str(name), _told(value)


def _told(value: Any, depth: int = 0) -> Told:
    if depth >= _MOST_LISTS:
        return _kept(value)
    if isinstance(value, list) and len(cast("list[Any]", value)) == 1:
        inner = _told(value[0], depth + 1)
        return inner if isinstance(inner, Refers) else _kept(value)
    if isinstance(value, list):
        parts = [_told(x, depth + 1) for x in cast("list[Any]", value)[:_MOST_PARTS]]
        known = tuple(x for x in parts if isinstance(x, Refers | Written))
        if len(known) == len(cast("list[Any]", value)) and references(Several(known)):
            return Several(known)
    if isinstance(value, Mapping):
        return _of_object(cast("Mapping[str, Any]", value), depth)
    return _of_text(value) if isinstance(value, str) else _kept(value)


def _of_object(value: Mapping[str, Any], depth: int) -> Told:
    label = _label(_first(value, _REFERS))
    if label and value.keys() <= {*_REFERS, *_FIELD}:
        field = _first(value, _FIELD)
        return Refers(label, field if isinstance(field, str) else "", "call" in value)
    if {*value} == {"value"}:
        return _kept(value["value"])
    if {*value} == {"parts"} and isinstance(value["parts"], list):
        return _told(value["parts"], depth)
    return _kept(value)


def _of_text(text: str) -> Told:
    if (found := _IN_TEXT.match(text)) is not None:
        return Refers(
            _label(found["a"] or found["b"] or found["c"]), found["af"] or found["bf"] or ""
        )
    if _PLACE.match(text) or _HOLDS_PLACE.search(text):
        return Unknown(text[:100])
    return _kept(text)


def _kept(value: Any) -> Told:
    try:
        is_short = len(json.dumps(value)) <= _MOST_CHARACTERS
    except (ValueError, RecursionError):
        is_short = False
    return Written(value) if is_short else Unknown("a value that is too large")


def _read(value: Any) -> Any:
    """Arguments may be JSON in a text, as in calls of functions."""
    if not isinstance(value, str) or len(value) > _MOST_CHARACTERS:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _first(value: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((value[x] for x in names if value.get(x) is not None), None)


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
