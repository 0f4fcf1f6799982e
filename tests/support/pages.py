"""The documentation: its pages, their tables, code blocks and links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: the page it is on, its language, its text, the line it begins at."""

    page: Path
    language: str
    text: str
    line: int

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Row:
    """A line of a table, by the heads of its columns."""

    cells: dict[str, str]

    def codes(self, column: str) -> list[str]:
        """Return the texts in backquotes in one column."""
        return _CODE.findall(self.cells[column])


def text_of(page: Path) -> str:
    """Return the page's text."""
    return page.read_text(encoding="utf-8")


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    text = text_of(page)
    return [
        Block(page, match[1], match[2], text.count("\n", 0, match.start()) + 1)
        for match in _FENCE.finditer(text)
    ]


def rows_of(page: Path) -> Iterator[Row]:
    """Yield every line of every table of a page."""
    heads: list[str] = []
    for line in [*_without_blocks(text_of(page)).splitlines(), ""]:
        if not line.startswith("|"):
            heads = []
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not heads:
            heads = cells
        elif set("".join(cells)) - set("-: "):
            yield Row(dict(zip(heads, cells, strict=True)))


def links_of(page: Path) -> list[str]:
    """Return the targets of the page's links and pictures, as written."""
    return _LINK.findall(_without_blocks(text_of(page)))


def codes_of(page: Path) -> list[str]:
    """Return everything in backquotes on a page, outside of its blocks."""
    return _CODE.findall(_without_blocks(text_of(page)))


def headings_of(page: Path) -> list[str]:
    """Return the headings of a page as its links name them."""
    headings = re.findall(r"^#+ (.+)$", _without_blocks(text_of(page)), re.MULTILINE)
    return [_slug(x) for x in headings]


def _slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _without_blocks(text: str) -> str:
    return _FENCE.sub("", text)
