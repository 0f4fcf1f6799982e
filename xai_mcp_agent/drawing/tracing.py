"""Recorded calls with their arguments traced to the results before, and those left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..core.tools import JsonObject
from ..planning.tracing import TracedResults
from .calls import DrawnCall
from .recorded import RecordedCall, is_cut, is_hidden

NOT_RECORDED = "The arguments of this call were not recorded."
_HIDDEN = "It looked like a secret, so it was not recorded."
_SHORTENED = "It was too long: only its beginning was recorded."


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A recorded call that is not drawn, and why."""

    name: str
    why: str


def traced(calls: Sequence[RecordedCall]) -> tuple[list[DrawnCall], list[LeftOut]]:
    """The calls with their arguments traced, and those that are left out.

    Left out are calls that failed, and the agent's own tools.
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
            drawn.append(_drawn(call, results))
            results.add(call.value)
    return drawn, left_out


def _drawn(call: RecordedCall, results: TracedResults) -> DrawnCall:
    if call.arguments is None:
        return DrawnCall(call.source, call.tool, note=NOT_RECORDED)
    arguments: JsonObject = {}
    missing: dict[str, str] = {}
    for name, value in call.arguments.items():
        if is_hidden(value):
            missing[name] = _HIDDEN
        elif _has_cut(value):
            missing[name] = _SHORTENED
        else:
            arguments[name] = results.source_of(value, name)
    return DrawnCall(call.source, call.tool, arguments, missing)


def _has_cut(value: Any) -> bool:
    match value:
        case dict():
            return any(map(_has_cut, cast(dict[str, Any], value).values()))
        case list():
            return any(map(_has_cut, cast(list[Any], value)))
        case _:
            return is_cut(value)
