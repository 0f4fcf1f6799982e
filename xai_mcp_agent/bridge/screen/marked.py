"""Lines that begin with a mark, such as `->` for a call, wrapped so that the mark stands alone."""

from __future__ import annotations

from .screen import Line, Style
from .text import wrap

_STYLES: dict[str, Style] = {
    "==": "bold", "->": "cyan", "<-": "green", "++": "blue", "--": "blue", "..": "faint",
    "!!": "red", "??": "bold",
}  # fmt: skip


def marked_line(mark: str, text: str) -> Line:
    """One line of `text`, in which the mark stands."""
    return Line(text, "", text.index(mark) + len(mark), _STYLES.get(mark, ""))


def marked_lines(
    mark: str, text: str, width: int, first: str, body: str, style: Style = ""
) -> list[Line]:
    """`text` after a mark; its further lines keep their own indents.

    `first` stands before the mark, `body` before all that follows.
    """
    head, *rest = text.split("\n")
    after = f"{body}   "
    lines = wrap(head, width, f"{first}{mark} ", after)
    for line in rest:
        own = after + " " * (len(line) - len(line.lstrip()))
        if _is_address(line):  # in one piece, or nobody can click or copy it
            lines.append(own + line.lstrip())
        else:
            lines += wrap(line.lstrip(), width, own, f"{own}  ")
    opening = Line(lines[0], style, len(first) + len(mark), _STYLES.get(mark, ""))
    return [opening, *(Line(x, style) for x in lines[1:])]


def _is_address(line: str) -> bool:
    """Whether a line is an address of the web and nothing else."""
    return line.lstrip().startswith(("http://", "https://")) and len(line.split()) == 1
