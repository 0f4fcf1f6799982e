"""Recorded calls with their arguments traced to the results before, and those left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from ..core.json import JsonObject
from ..planning.tracing import TracedResults
from ..steps.references import Joined, Number, Reference
from .flow import DrawnCall
from .recorded import RecordedCall, is_cut, is_hidden

Hides: TypeAlias = Callable[[str, str], bool]
"""Whether a text of this name is a secret."""

NOT_RECORDED = "The arguments of this call were not recorded."
_HIDDEN = "It looked like a secret, so it was not recorded."
_SECRET = "It looks like a secret, so it is not written down."
_SHORTENED = "It was too long: only its beginning was recorded."


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A recorded call that is not drawn, and why."""

    name: str
    why: str


def traced(
    calls: Sequence[RecordedCall], hides: Hides = lambda name, text: False
) -> tuple[list[DrawnCall], list[LeftOut]]:
    """The calls with their arguments traced, and those that are left out.

    Left out are calls that failed, and the agent's own tools. What `hides` takes for a secret is
    not written down, but must be given.
    """
    drawn: list[DrawnCall] = []
    left_out: list[LeftOut] = []
    results = TracedResults()
    for call in calls:
        if call.is_own:
            left_out.append(LeftOut(call.name, "it is a tool of the agent itself"))
        elif call.is_made_of_others:
            left_out.append(LeftOut(call.name, "it was drawn; the calls that it made are here"))
        elif call.is_error:
            left_out.append(LeftOut(call.name, "it failed"))
        else:
            drawn.append(_drawn(call, results, hides))
            results.add(call.value)
    return drawn, left_out


def _drawn(call: RecordedCall, results: TracedResults, hides: Hides) -> DrawnCall:
    if call.arguments is None:
        return DrawnCall(call.source, call.tool, note=NOT_RECORDED)
    arguments: JsonObject = {}
    missing: dict[str, str] = {}
    for name, value in call.arguments.items():
        if is_hidden(value):
            missing[name] = _HIDDEN
        elif _has_cut(value):
            missing[name] = _SHORTENED
        elif _has_secret(source := results.source_of(value, name), name, hides):
            missing[name] = _SECRET
        else:
            arguments[name] = source
    return DrawnCall(call.source, call.tool, arguments, missing)


def _has_secret(value: Any, name: str, hides: Hides) -> bool:
    """Whether a secret would be written down; one that is taken from a result is not."""
    match value:
        case str():
            return hides(name, value)
        case dict():
            items = cast(dict[str, Any], value).items()
            return any(_has_secret(x, key, hides) or hides("", key) for key, x in items)
        case list() | Joined():
            parts = value.parts if isinstance(value, Joined) else cast(list[Any], value)
            return any(_has_secret(x, name, hides) for x in parts)
        case Reference() | Number():
            used = value.of if isinstance(value, Number) else value
            return hides("", used.after) or hides("", used.before)
        case _:
            return False


def _has_cut(value: Any) -> bool:
    match value:
        case dict():
            return any(map(_has_cut, cast(dict[str, Any], value).values()))
        case list():
            return any(map(_has_cut, cast(list[Any], value)))
        case _:
            return is_cut(value)
