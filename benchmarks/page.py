"""Measured tables in `docs/measured.md`, each between its own marks."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "measured.md"
END = "<!-- end -->"


def begin(command: str) -> str:
    """Return the mark before the table that this command writes."""
    return f"<!-- Written by `{command}`: begin -->"


def write(command: str, text: str, page: Path | None = None) -> None:
    """Put the text between the marks of this command on a page, by default `PAGE`.

    Raises:
        ValueError: the page has lost its marks.
    """
    page = page or PAGE
    head, mark, rest = page.read_text(encoding="utf-8").partition(begin(command))
    _, end, tail = rest.partition(END)
    if not (mark and end):
        raise ValueError(f"{page.name} has lost its mark {begin(command)} or {END}")
    page.write_text(f"{head}{mark}\n{text.strip()}\n{end}{tail}", encoding="utf-8", newline="\n")
    print(f"Written to {page}.")


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def machine() -> str:
    """Return the date and the machine of a measurement, in a sentence."""
    return (
        f"Measured on {date.today().isoformat()}: {os.cpu_count()} cores ({platform.machine()}), "
        f"{platform.system()}, Python {platform.python_version()}."
    )
