"""Tools that fit together: which output fits which input, and plans for a request.

Public (see docs/planning.md) are the names here; those of inner modules may change at any time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = [
    "Edge", "Flow", "FromResult", "Given", "Missing", "Plan", "PlannedCall", "Planner",
    "Suggestion",
]  # fmt: skip

_HOMES = {
    "Edge": "plans", "Flow": "flows", "FromResult": "plans", "Given": "plans", "Missing": "plans",
    "Plan": "plans", "PlannedCall": "plans", "Planner": "planner", "Suggestion": "suggestions",
}  # fmt: skip

if TYPE_CHECKING:
    from .flows import Flow
    from .planner import Planner
    from .plans import Edge, FromResult, Given, Missing, Plan, PlannedCall
    from .suggestions import Suggestion
else:  # looked up on first use, as those of the package

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
