"""Xircuits components for LLM agents, and the engine behind them.

Everything public is here (see docs/python.md); the names of inner modules may change at any time.
Importing this package alone imports nothing heavy: each name is looked up on first use, where
`__init__.pyi` says it is.
"""

from __future__ import annotations

import ast
import os
from importlib import import_module
from typing import Any


def _homes() -> dict[str, str]:
    """The modules of the public names, by name."""
    with open(f"{os.path.splitext(__file__)[0]}.pyi", encoding="utf-8") as stub:
        statements = ast.parse(stub.read()).body
    imports = [x for x in statements if isinstance(x, ast.ImportFrom)]
    return {alias.name: f".{x.module}" for x in imports for alias in x.names}


_HOMES = _homes()
__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .core.imports import without_collection

    with without_collection():
        value = getattr(import_module(_HOMES[name], __name__), name)
    globals()[name] = value  # found without this function from now on
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
