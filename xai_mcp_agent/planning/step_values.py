"""Arguments of a plan as steps of a workflow have them: one way to take a part of a result.

What runs a plan, and what draws it, both go this way: so both make the same calls.
"""

from __future__ import annotations

import re
from typing import Any

from ..core.json import JsonObject
from ..core.tools import ToolKey
from ..steps.reading import BadStep, read_path
from ..steps.references import (
    BARE,
    CANVAS_SOURCE,
    First,
    Joined,
    Number,
    PathStep,
    Reference,
    Somewhere,
    references_in,
)
from .plan_file import BadPlan
from .plans import FromResult, Given, Missing, Parts, Plan, PlannedCall, Source, missing_in

# A name in a path with what has to be quoted in the path of a step, such as a space; or one that
# is quoted already.
_ODD_NAME = re.compile(
    r'(?<=\[)"(?:[^"\\]|\\.)*"|'
    r"(?:^|(?<=[.\]]))([^.\[\]{}]*[^\w.\[\]{}-][^.\[\]{}]*)(?=$|[.\[])"
)


def step_arguments(plan: Plan) -> list[JsonObject]:
    """The arguments of each call, without those that are missing.

    JSON with a `Reference` to a call by its place wherever a result is used. Where nobody knows
    where in a result it is, that is what is called as the parameter is, or all of it.

    Raises:
        BadPlan: a field is no path, or a call uses one that does not come before it.
    """
    return [
        {
            name: _checked(
                _step_value(x, name), number, f"Call {number + 1}, {call.name}: `{name}`"
            )
            for name, x in call.arguments.items()
            if not missing_in(x)
        }
        for number, call in enumerate(plan.calls)
    ]


def _checked(value: Any, number: int, place: str) -> Any:
    for used in references_in(value):
        if not 0 <= used.result < number:
            raise BadPlan(f"{place} uses call {used.result + 1}, which does not come before it.")
    return value


def _step_value(source: Source, parameter: str) -> Any:
    match source:
        case Given(value):
            return value
        case Parts(parts):
            return [_step_value(x, parameter) for x in parts]
        case FromResult(call, None) if BARE.fullmatch(parameter):
            return Reference(call, (Somewhere(parameter),))
        case FromResult(call, field, conversion):
            return _converted(Reference(call, path_of(field)), conversion.split(", "))
        case Missing():
            return None


def path_of(field: str | None) -> tuple[PathStep, ...]:
    """The path that a field such as `orders[].id` is.

    Raises:
        BadPlan: it is none.
    """
    text = _ODD_NAME.sub(lambda found: f'["{found[1]}"]' if found[1] else found[0], field or "")
    try:
        return read_path(text.replace('.["', '["'))
    except BadStep as reason:
        raise BadPlan(f"`{field}` is no path in a result. {reason}") from reason


def tool_of(call: PlannedCall, source: str = "") -> tuple[str, str]:
    """The source and the name of a call's tool; `source` is that of tools that name none.

    Raises:
        BadPlan: it is not said whose tool it is.
    """
    if isinstance(call.tool, ToolKey):
        return call.tool.source or CANVAS_SOURCE, call.tool.name
    before, slash, after = str(call.tool).partition("/")
    if source or (slash and before and after):
        return (source, str(call.tool)) if source else (before, after)
    raise BadPlan(
        f"The tool {call.tool!s:.60} does not say whose tool it is. Write "
        f"`source/{call.tool!s:.60}`, or name the source of all with --source."
    )


def _converted(reference: Reference, words: list[str]) -> Any:
    """With what a flow's conversion asks for; what a step cannot do is left as it is."""
    if words[0] == "one of them":
        reference = Reference(reference.result, (*reference.path, First.ITEM))
    value: Any = reference
    for word in words:
        if word in ("written as text", "written as JSON"):
            value = Joined((reference,))
        elif word == "read as a number":
            value = Number(reference)
        elif word == "put in a list":
            value = [value]
    return value
