"""Importing each component file against importing what every Xircuits component imports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import xai_mcp_agent

from .rows import Row, ratio, size

_ROUNDS = size(9, 1)
_TARGET = 1.5


def rows() -> Iterator[Row]:
    """Measure in fresh interpreters, the start of the interpreter included on both sides."""
    folder = Path(xai_mcp_agent.__file__).parent
    for file in sorted(folder.glob("*_components.py")):
        module = f"xai_mcp_agent.{file.stem}"
        value, spread = ratio(
            lambda module=module: _import(module), lambda: _import("xai_components.base"), _ROUNDS
        )
        yield Row(f"import {file.name} / import base", value, "x", _TARGET, spread)


def _import(module: str) -> None:
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
