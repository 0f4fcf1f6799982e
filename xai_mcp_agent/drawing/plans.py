"""Plans as calls to be drawn."""

from __future__ import annotations

from collections.abc import Mapping

from ..planning.plans import Plan, Source, missing_in
from ..planning.step_values import step_arguments, tool_of
from .calls import DrawnCall


def calls_of_plan(plan: Plan, source: str = "") -> list[DrawnCall]:
    """The calls of a plan; `source` is that of tools that name none.

    Raises:
        BadPlan: one of its calls is not known well enough.
    """
    return [
        DrawnCall(*tool_of(call, source), arguments, _missing(call.arguments))
        for call, arguments in zip(plan.calls, step_arguments(plan), strict=True)
    ]


def _missing(arguments: Mapping[str, Source]) -> dict[str, str]:
    return {name: why for name, x in arguments.items() if (why := missing_in(x))}
