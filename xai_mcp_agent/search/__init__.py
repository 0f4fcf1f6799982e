"""Which of the available tools a request to a model shows, and finding tools without a model.

Public (see docs/python.md) are the names here; those of inner modules may change at any time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Hit", "ToolIndex"]

if TYPE_CHECKING:
    from .tools import Hit, ToolIndex
else:  # looked up on first use, as those of the package

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(".tools", __name__), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
