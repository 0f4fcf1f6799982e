"""What the canvas and the compiler demand of a `.xircuits` file, of all that are ours.

As in `xai_mcp_agent.drawing.rules`, with the colours besides, of any library.
"""

from __future__ import annotations

import tinycss2.color4

from xai_mcp_agent.drawing import rules
from xai_mcp_agent.drawing.rules import Classes, Document, fits, links_of, load, nodes_of

from .components import all_components

__all__ = ["Document", "fits", "links_of", "load", "nodes_of", "problems"]


def problems(document: Document, name: str, classes: Classes | None = None) -> list[str]:
    """Return what is wrong with a file called `<name>.xircuits`, as sentences.

    `classes` are those that are installed, by name: ours and Xircuits' by default.
    """
    found = rules.problems(document, name, all_components() if classes is None else classes)
    colors = {(x.get("name"), x["color"]) for x in nodes_of(document) if "color" in x}
    found += [
        f"{called}: no colour {color!r}; the canvas would be blank"
        for called, color in colors
        if tinycss2.color4.parse_color(color) is None
    ]
    return found
