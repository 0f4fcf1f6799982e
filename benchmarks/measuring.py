"""The frame of a benchmark in parts: each measured, shown, and all of them on a page.

A whole run writes its tables into its page; one of some parts only prints them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from . import page
from .rows import IS_SMALLEST

# The tables of a part with what is to be said of them, and which goals were missed.
Told: TypeAlias = tuple[str, list[str]]


def measure(
    parts: Mapping[str, Callable[[], Told]], only: str, command: str, written_to: Path
) -> int:
    """Measure the parts, or those that are named; 1 if a goal was missed that counts."""
    began = time.monotonic()
    texts: list[str] = []
    missed: list[str] = []
    for name in only.split(",") if only else parts:
        text, misses = parts[name]()
        texts.append(text)
        missed += misses
        print(f"\n{text}\n", flush=True)
    for line in missed:
        print(f"missed: {line}", file=sys.stderr)
    if not only:
        minutes = (time.monotonic() - began) / 60
        head = f"{page.machine()} The run took {minutes:.0f} minutes."
        page.write(command, "\n\n".join([head, *texts, _verdict(missed)]), written_to)
        print(f"Written to {written_to}.")
    return 1 if missed and not IS_SMALLEST else 0


def parser_of(prog: str, about: str | None, parts: Collection[str]) -> argparse.ArgumentParser:
    """A parser that knows `--data`, `--scorer` and `--only`."""
    parser = argparse.ArgumentParser(prog=prog, description=about)
    parser.add_argument("--data", type=Path, required=True, help="a folder with one for each set")
    parser.add_argument("--scorer", type=Path, required=True, help="a Python program that scores")
    parser.add_argument("--only", default="", help=f"any of: {','.join(parts)}")
    return parser


def parsed(
    parser: argparse.ArgumentParser, arguments: Sequence[str], parts: Collection[str]
) -> argparse.Namespace:
    """Parse the arguments; an unknown part ends the program."""
    asked = parser.parse_args(arguments)
    if unknown := {x for x in asked.only.split(",") if x} - {*parts}:
        parser.error(f"no part {sorted(unknown)[0]!r}; there are: {', '.join(parts)}")
    return asked


def _verdict(missed: Sequence[str]) -> str:
    if not missed:
        return "All goals are reached."
    return "Goals that are missed:\n\n" + "\n".join(f"- {x}" for x in missed)
