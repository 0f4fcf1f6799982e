"""Search among tools, and the selection of tools that a request to a model shows.

The names here are public (see docs/python.md); inner modules may change at any time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Hit", "ToolIndex"]

if TYPE_CHECKING:
    from .tools import Hit, ToolIndex
else:  # imported on first use, as in the package

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(".tools", __name__), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
