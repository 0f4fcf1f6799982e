"""Draws calls of tools as workflows for the canvas, such as those of an agent's run.

The name here is public (see docs/drawing.md); inner modules may change at any time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["draw_plan"]

if TYPE_CHECKING:
    from .plans import draw_plan
else:  # imported on first use, as in the package

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from . import plans

        return getattr(plans, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
