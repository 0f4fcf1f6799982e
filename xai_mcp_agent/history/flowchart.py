"""A flowchart in the words of Mermaid, in which names of strangers are never more than text."""

from __future__ import annotations

import re

from .wording import plain

_LABEL_CHARS = 80
# Whatever else stands in a label is written as a number, so that it is never read as anything but
# a character: no end of the quotes, no HTML, no Markdown, no entity, no directive.
_HARMLESS = re.compile(r"[A-Za-z0-9_ ]")
_STYLES = {
    "project": "font-weight:bold",
    "tools": "font-weight:bold",
    "source": "font-weight:bold",
    "tool": "stroke-width:1px",
    "at_rest": "stroke-dasharray:4 3,opacity:0.75",
    "gone": "stroke:#c0392b,stroke-dasharray:2 2,text-decoration:line-through",
    "more": "stroke-dasharray:1 3,font-style:italic",
    "chosen": "stroke-width:3px,font-weight:bold",
}


class Flowchart:
    """From left to right; nodes are numbered in their order."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._count = 0

    def node(self, label: str, style: str, remark: str = "") -> str:
        """A node with this label and, in a second line, a remark. Gives its id."""
        name = f"n{self._count}"
        self._count += 1
        text = f"{_escaped(label)}<br/>{_escaped(remark)}" if remark else _escaped(label)
        self._lines.append(f'  {name}["{text}"]:::{style}')
        return name

    def edge(self, source: str, target: str) -> None:
        """A line from one node to another."""
        self._lines.append(f"  {source} --> {target}")

    def flow(self, source: str, target: str, label: str) -> None:
        """A dotted arrow from one node to another, which says what flows."""
        self._lines.append(f'  {source} -.->|"{_escaped(label)}"| {target}')

    def __str__(self) -> str:
        styles = [f"  classDef {name} {style}" for name, style in _STYLES.items()]
        return "\n".join(["flowchart LR", *self._lines, *styles]) + "\n"


def _escaped(text: str) -> str:
    visible = plain(text, _LABEL_CHARS) or " "
    return "".join(x if _HARMLESS.match(x) else f"#{ord(x)};" for x in visible)
