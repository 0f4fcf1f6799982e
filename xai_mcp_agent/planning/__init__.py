"""Tools that fit together: which output fits which input, and plans for a request.

The names here are public (see docs/planning.md); inner modules may change at any time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = [
    "BadPlan", "Edge", "FinishedCall", "Flow", "FromResult", "Missing", "MissingArgument", "Parts",
    "Plan", "PlanRun", "PlannedCall", "Planner", "Suggestion", "Value", "plan_as_json",
    "plan_from_json", "read_plan",
]  # fmt: skip

_HOMES = {
    "BadPlan": "plan", "Edge": "plan", "FinishedCall": "plan_run", "Flow": "flows",
    "FromResult": "plan", "Missing": "plan", "MissingArgument": "plan_run", "Parts": "plan",
    "Plan": "plan", "PlanRun": "plan_run", "PlannedCall": "plan", "Planner": "planner",
    "Suggestion": "suggestions", "Value": "plan", "plan_as_json": "plan",
    "plan_from_json": "plan", "read_plan": "plan",
}  # fmt: skip

if TYPE_CHECKING:
    from .flows import Flow
    from .plan import (
        BadPlan,
        Edge,
        FromResult,
        Missing,
        Parts,
        Plan,
        PlannedCall,
        Value,
        plan_as_json,
        plan_from_json,
        read_plan,
    )
    from .plan_run import FinishedCall, MissingArgument, PlanRun
    from .planner import Planner
    from .suggestions import Suggestion
else:  # imported on first use, as in the package

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
