"""Figures into `docs/performance.md`, each between marks of their own."""

from __future__ import annotations

import os
import platform
from datetime import date
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
END = "<!-- end -->"


def begin(command: str) -> str:
    """The mark before what this command writes."""
    return f"<!-- Written by `{command}`: begin -->"


def write(command: str, text: str, page: Path = PAGE) -> None:
    """Put the text between the marks of this command, and leave the rest.

    Raises:
        ValueError: the page has lost its marks.
    """
    head, mark, rest = page.read_text(encoding="utf-8").partition(begin(command))
    _, end, tail = rest.partition(END)
    if not (mark and end):
        raise ValueError(f"{page} has lost its mark {begin(command)} or {END}")
    page.write_text(f"{head}{mark}\n{text}\n{end}{tail}", encoding="utf-8")


def machine() -> str:
    """On what it was measured, in a sentence."""
    return (
        f"Measured on {date.today().isoformat()}: {os.cpu_count()} cores ({platform.machine()}), "
        f"{platform.system()}, Python {platform.python_version()}."
    )
