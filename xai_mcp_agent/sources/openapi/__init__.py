"""Operations of OpenAPI services as tools.

Importing this package imports nothing heavy: each name is looked up on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["BadDocument", "Operation", "Problem", "RequestPlan", "Service", "load_service"]

_HOME_OF = {
    "BadDocument": "document",
    "Operation": "operations",
    "Problem": "operations",
    "RequestPlan": "plan",
    "Service": "service",
    "load_service": "service",
}

if TYPE_CHECKING:
    from .document import BadDocument
    from .operations import Operation, Problem
    from .plan import RequestPlan
    from .service import Service, load_service
else:  # so that type checkers report a name that does not exist

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
        globals()[name] = value
        return value
