"""Lines of a Mermaid flowchart, safe for any text."""

from __future__ import annotations

import re

from .wording import plain

_LABEL_CHARS = 80
# Other characters of a label become numbers, so that they are only text: no end of the quotes, no
# HTML, no Markdown, no entity, no directive.
_HARMLESS = re.compile(r"[A-Za-z0-9_ ]")
_STYLES = {
    "project": "font-weight:bold",
    "tools": "font-weight:bold",
    "source": "font-weight:bold",
    **dict.fromkeys(("tool", "prompt", "resource", "template"), "stroke-width:1px"),
    "at_rest": "stroke-dasharray:4 3,opacity:0.75",
    "gone": "stroke:#c0392b,stroke-dasharray:2 2,text-decoration:line-through",
    "more": "stroke-dasharray:1 3,font-style:italic",
    "chosen": "stroke-width:3px,font-weight:bold",
}


class Flowchart:
    """A flowchart, built line by line. Labels are only text, whatever they contain."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._count = 0

    def node(self, label: str, style: str, remark: str = "") -> str:
        """Add a node with this label and, in a second line, a remark; return its id."""
        name = f"n{self._count}"
        self._count += 1
        text = f"{_escaped(label)}<br/>{_escaped(remark)}" if remark else _escaped(label)
        self._lines.append(f'  {name}["{text}"]:::{style}')
        return name

    def edge(self, source: str, target: str) -> None:
        """Add a line from one node to another."""
        self._lines.append(f"  {source} --> {target}")

    def flow(self, source: str, target: str, label: str) -> None:
        """Add a dotted arrow from one node to another, with a label."""
        self._lines.append(f'  {source} -.->|"{_escaped(label)}"| {target}')

    def __str__(self) -> str:
        styles = [f"  classDef {name} {style}" for name, style in _STYLES.items()]
        return "\n".join(["flowchart LR", *self._lines, *styles]) + "\n"


def _escaped(text: str) -> str:
    label = plain(text, _LABEL_CHARS) or " "
    return "".join(x if _HARMLESS.match(x) else f"#{ord(x)};" for x in label)
