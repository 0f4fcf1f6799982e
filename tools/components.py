"""Every component a workflow may use: ours, and what comes with Xircuits."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from xai_mcp_agent.core.util import LIBRARY
from xai_mcp_agent.drawing.components import ComponentClass, our_components, read_component_file


def component(name: str, classes: Mapping[str, ComponentClass] | None = None) -> ComponentClass:
    """Return a class by its name alone, as the palette does; of ours and Xircuits' by default."""
    known = all_components() if classes is None else classes
    if name not in known:
        raise KeyError(f"no component {name!r} among {len(known)} classes")
    return known[name]


@cache
def all_components() -> dict[str, ComponentClass]:
    """Return every class by name: what comes with Xircuits, then ours."""
    spec = importlib.util.find_spec("xai_components")
    assert spec is not None, "Xircuits is not installed"
    assert spec.origin is not None
    files = sorted(Path(spec.origin).parent.glob("xai_*/*.py"))
    theirs = [file for file in files if file.parent.name != LIBRARY]
    found = [x for file in theirs for x in read_component_file(file, file.parent.name)]
    return {x.name: x for x in found} | our_components()
