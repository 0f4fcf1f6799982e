"""Benchmarks in parts: each is measured and printed, and a whole run is written into the page."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TypeAlias

from . import page
from .rows import IS_SMALLEST

ROOT = Path(__file__).parents[1]

# The Markdown of a part, and the goals that it missed.
Report: TypeAlias = tuple[str, list[str]]


def measure(parts: Mapping[str, Callable[[], Report]], names: Collection[str], command: str) -> int:
    """Measure these parts, or all; 1 if a goal that counts was missed."""
    start = time.monotonic()
    texts: list[str] = []
    missed: list[str] = []
    for name in names or parts:
        text, misses = parts[name]()
        texts.append(text)
        missed += misses
        print(f"\n{text}\n", flush=True)
    for line in missed:
        print(f"missed: {line}", file=sys.stderr)
    if not names:
        minutes = (time.monotonic() - start) / 60
        head = f"{page.machine()} The run took {minutes:.0f} minutes."
        verdict = "All goals are reached."
        if missed:
            verdict = "Goals that are missed:\n\n" + "\n".join(f"- {x}" for x in missed)
        page.write(command, "\n\n".join([head, *texts, verdict]))
    return 1 if missed and not IS_SMALLEST else 0


def parser_of(prog: str, about: str | None, parts: Collection[str]) -> argparse.ArgumentParser:
    """Return a parser that knows `--data`, `--scorer` and `--only`."""
    parser = argparse.ArgumentParser(prog=prog, description=about)
    parser.add_argument("--data", type=Path, required=True, help="a folder with a folder per set")
    parser.add_argument("--scorer", type=Path, required=True, help="a Python program that scores")
    parser.add_argument(
        "--only", type=names_among(parts), default=[], help=f"any of: {','.join(parts)}"
    )
    return parser


def name_among(names: Collection[str]) -> Callable[[str], str]:
    """Return the type of an argument that is one of these names."""

    def check(name: str) -> str:
        if name not in names:
            raise argparse.ArgumentTypeError(f"no {name!r}; there are: {', '.join(names)}")
        return name

    return check


def names_among(names: Collection[str]) -> Callable[[str], list[str]]:
    """Return the type of an argument that is a list of these names, with commas."""
    check = name_among(names)
    return lambda text: [check(x) for x in text.split(",") if x]


def run_module(module: str, *arguments: object, limit_seconds: float) -> str:
    """Run a module of ours in a new process, and return its output.

    Raises:
        RuntimeError: it failed.
    """
    command = [sys.executable, "-m", module, *map(str, arguments)]
    process = subprocess.run(
        command, capture_output=True, text=True, timeout=limit_seconds, check=False, cwd=ROOT
    )
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {process.stderr.strip()[-500:]}")
    return process.stdout
