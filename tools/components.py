"""Every component a workflow may use: ours, and what comes with Xircuits."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

from xai_mcp_agent.core.util import LIBRARY
from xai_mcp_agent.drawing.components import ComponentClass, our_components, read_component_file


@cache
def all_components() -> dict[str, ComponentClass]:
    """Return every class by name: what comes with Xircuits, then ours."""
    spec = importlib.util.find_spec("xai_components")
    assert spec is not None, "Xircuits is not installed"
    assert spec.origin is not None
    files = sorted(Path(spec.origin).parent.glob("xai_*/*.py"))
    theirs = [file for file in files if file.parent.name != LIBRARY]
    classes = [x for file in theirs for x in read_component_file(file, file.parent.name)]
    return {x.name: x for x in classes} | our_components()
