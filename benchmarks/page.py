"""Figures into `docs/measured.md`, each table between marks of its own."""

from __future__ import annotations

import os
import platform
from datetime import date
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "measured.md"
END = "<!-- end -->"


def begin(command: str) -> str:
    """The mark before the table that this command writes."""
    return f"<!-- Written by `{command}`: begin -->"


def page_with(page: str, command: str, text: str) -> str:
    """The page with the text between the marks of this command.

    Raises:
        ValueError: the page has lost its marks.
    """
    head, mark, rest = page.partition(begin(command))
    _, end, tail = rest.partition(END)
    if not (mark and end):
        raise ValueError(f"the page has lost its mark {begin(command)} or {END}")
    return f"{head}{mark}\n{text.strip()}\n{end}{tail}"


def write(command: str, text: str, page: Path = PAGE) -> None:
    """Put the text between the marks of this command, and leave the rest."""
    written = page_with(page.read_text(encoding="utf-8"), command, text)
    page.write_text(written, encoding="utf-8", newline="\n")


def machine() -> str:
    """When and on which machine it was measured, in a sentence."""
    return (
        f"Measured on {date.today().isoformat()}: {os.cpu_count()} cores ({platform.machine()}), "
        f"{platform.system()}, Python {platform.python_version()}."
    )
