"""Importing each component file against importing what every Xircuits component imports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import xai_mcp_agent

from .rows import Row, compare, size

_ROUNDS = size(9, 1)
_TARGET = 1.5


def rows() -> Iterator[Row]:
    """Measure in fresh interpreters, the start of the interpreter included on both sides."""
    base = _import("xai_components.base")
    for file in sorted(Path(xai_mcp_agent.__file__).parent.glob("*_components.py")):
        ours = _import(f"xai_mcp_agent.{file.stem}")
        yield compare(f"import {file.name} / import base", ours, base, _ROUNDS, _TARGET)


def _import(module: str) -> Callable[[], object]:
    command = [sys.executable, "-c", f"import {module}"]
    return lambda: subprocess.run(command, check=True)
