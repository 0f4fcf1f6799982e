"""What makes the component files of a wheel, as a module."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parents[2] / "packaging" / "build_hook.py"


def build_hook() -> Any:
    """The module that makes the component files of a wheel."""
    spec = importlib.util.spec_from_file_location("hook", _FILE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
