"""Plans as workflows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..planning.plan import (
    Plan,
    Source,
    plan_from_json,
    step_arguments,
    tool_of,
    why_missing,
)
from .components import our_components
from .flow import CallToDraw, draw


def draw_plan(plan: Plan | Mapping[str, Any], file: str | Path, *, source: str = "") -> Path:
    """Write a plan, or its JSON, as a workflow that makes the same calls; return its path.

    It has a node for each call, a wire for each use of a result, and for a missing value a literal
    to fill in, with a note. The file's name is the workflow's; it replaces no file. `source` is the
    default server of tools.

    Raises:
        BadPlan: this is not a plan, or cannot be drawn.
        WorkflowError: a workflow cannot have this name.
        OSError: the file exists, or cannot be written.
    """
    plan = plan if isinstance(plan, Plan) else plan_from_json(plan)
    target = Path(file).with_suffix(".xircuits")
    text = draw(target.stem, calls_of_plan(plan, source), our_components()).text()
    with target.open("x", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
    return target


def calls_of_plan(plan: Plan, source: str = "") -> list[CallToDraw]:
    """Return the calls of a plan; `source` is the default server of tools.

    Raises:
        BadPlan: a call does not name its server.
    """
    return [
        CallToDraw(*tool_of(call, source), arguments, _missing(call.arguments))
        for call, arguments in zip(plan.calls, step_arguments(plan), strict=True)
    ]


def _missing(arguments: Mapping[str, Source]) -> dict[str, str]:
    return {name: why for name, x in arguments.items() if (why := why_missing(x))}
