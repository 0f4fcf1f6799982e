"""Calls of tools as a workflow that the canvas opens: what a person keeps of an agent's run.

Public (see docs/drawing.md) is the name here; those of inner modules may change at any time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["draw_plan"]

if TYPE_CHECKING:
    from .plans import draw_plan
else:  # looked up on first use, as those of the package

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from . import plans

        return getattr(plans, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
