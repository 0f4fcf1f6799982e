"""Plans as calls to be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..planning.plan import (
    Plan,
    Source,
    missing_in,
    plan_from_json,
    step_arguments,
    tool_of,
)
from .components import our_components
from .flow import DrawnCall, draw


def draw_plan(plan: Plan | Mapping[str, Any], file: str | Path, *, source: str = "") -> Path:
    """Write a plan, or its JSON, as a workflow that makes the same calls; its path.

    One node a call, a wire where a result is used, a literal to fill in, with a note, where
    something is missing. The file's name is the workflow's; nothing is overwritten. `source` is
    that of tools that name none.

    Raises:
        BadPlan: it is none, or cannot be drawn.
        WorkflowError: a workflow cannot be called so.
        OSError: the file is there already, or cannot be written.
    """
    known = plan if isinstance(plan, Plan) else plan_from_json(plan)
    target = Path(file).with_suffix(".xircuits")
    flow = draw(target.stem, calls_of_plan(known, source), our_components())
    with target.open("x", encoding="utf-8", newline="\n") as opened:
        opened.write(flow.text())
    return target


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
