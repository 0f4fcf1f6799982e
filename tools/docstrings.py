"""Parser of a node's docstring: its summary, ports, branches and example."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEADING = re.compile(r"^##### (\w+):$", re.MULTILINE)
_ITEM = re.compile(r"^- (?P<name>\w+)(?: \((?P<type>\w+)\))?: (?P<text>.+)\Z", re.DOTALL)
_IN, _OUT, _BRANCHES, _EXAMPLE = "inPorts", "outPorts", "Branches", "Example"


@dataclass(frozen=True)
class Explained:
    """A port or a branch as a docstring explains it; a branch has no type."""

    name: str
    type: str
    text: str


@dataclass(frozen=True)
class Docstring:
    """Parts of a docstring. `summary` is its first line, `more` the paragraphs after it."""

    summary: str
    more: tuple[str, ...]
    branches: tuple[Explained, ...]
    ins: tuple[Explained, ...]
    outs: tuple[Explained, ...]
    example: str


def read_docstring(text: str) -> Docstring:
    """Parse a docstring.

    Raises:
        ValueError: it has an unknown heading or item; the message names it.
    """
    head, *rest = _HEADING.split(text)
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    if strange := sections.keys() - {_IN, _OUT, _BRANCHES, _EXAMPLE}:
        raise ValueError(f"a docstring has no heading {', '.join(sorted(strange))}")
    summary, *more = (_unwrap(part) for part in head.strip().split("\n\n"))
    return Docstring(
        summary=summary,
        more=tuple(more),
        branches=_items(sections.get(_BRANCHES, "")),
        ins=_items(sections.get(_IN, "")),
        outs=_items(sections.get(_OUT, "")),
        example=" ".join(sections.get(_EXAMPLE, "").split()),
    )


def _unwrap(paragraph: str) -> str:
    """Return the paragraph on one line; a list keeps a line for each item."""
    items = re.split(r"\n(?=- )", paragraph)
    return "\n".join(" ".join(item.split()) for item in items)


def _items(section: str) -> tuple[Explained, ...]:
    return tuple(_item(x) for x in re.split(r"^(?=- )", section.strip(), flags=re.MULTILINE) if x)


def _item(text: str) -> Explained:
    match = _ITEM.match(text.strip())
    if not match:
        raise ValueError(f"not of the form `- name (type): text`: {text.strip()!r}")
    return Explained(match["name"], match["type"] or "", " ".join(match["text"].split()))
