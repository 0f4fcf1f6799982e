"""Measure how tools are found: `python -m benchmarks.search --data FOLDER --scorer FILE`.

A whole run writes its tables into `docs/measured.md`; one of some parts only prints them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .. import page
from ..measuring import Told, measure, parsed, parser_of
from . import quality, speed, tasks, tokens
from .sets import ToolSet, read_sets
from .vectors import KeptVectors

COMMAND = "make bench-search"
PAGE = page.PAGE

PARTS = ("quality", "speed", "tokens", "tasks")


def main(arguments: Sequence[str]) -> int:
    """Measure what is asked for; 1 if a goal was missed."""
    asked = _asked(arguments)
    sets = read_sets(asked.data)
    parts = {
        "quality": lambda: measure_quality(sets, asked.scorer, asked.embed),
        "speed": lambda: measure_speed(sets),
        "tokens": lambda: measure_tokens(sets),
        "tasks": lambda: measure_tasks(sets, asked.seed, asked.tasks),
    }
    return measure(parts, asked.only, COMMAND, PAGE)


def measure_quality(sets: Sequence[ToolSet], scorer: Path, model: Path | None) -> Told:
    """Measure the quality of the search."""
    table = quality.measure(sets, scorer, KeptVectors(model) if model else None)
    text = f"{quality.markdown(table, sets)}\n\n{quality.means_over_sets(table)}"
    return f"### Quality\n\n{text}", quality.misses(table)


def measure_speed(sets: Sequence[ToolSet]) -> Told:
    """Measure the speed of the search."""
    with tempfile.TemporaryDirectory() as folder:
        speeds = speed.measure(sets, Path(folder))
    importing = speed.import_milliseconds()
    return f"### Speed\n\n{speed.markdown(speeds, importing)}", speed.misses(speeds, importing)


def measure_tokens(sets: Sequence[ToolSet]) -> Told:
    """Measure the tokens of tools in a request."""
    try:
        bundles, turns = tokens.measure_estimate(sets), tokens.measure_turns(sets)
    except (OSError, subprocess.SubprocessError) as error:
        return f"### Tokens\n\nNot measured: {error}", ["tokens were not counted"]
    texts = tokens.turns_markdown(turns), tokens.estimate_markdown(bundles)
    return "\n\n".join(("### Tokens", *texts)), tokens.misses(bundles)


def measure_tasks(sets: Sequence[ToolSet], seed: int, count: int) -> Told:
    """Which tools agents call."""
    try:
        work, plain = tasks.choose(sets, seed, count), tasks.plain(sets, seed)
    except LookupError as error:
        return f"### Tasks\n\nNot measured: {error}", ["tasks were not tried"]
    with tempfile.TemporaryDirectory() as folder:
        found = tasks.measure(work, Path(folder))
        if plain.tasks:
            found += tasks.measure(plain, Path(folder), tasks.PLAIN_WAYS)
    return f"### Tasks\n\n{tasks.markdown(found)}", tasks.misses(found)


def _asked(arguments: Sequence[str]) -> argparse.Namespace:
    parser = parser_of("python -m benchmarks.search", __doc__, PARTS)
    parser.add_argument("--embed", type=Path, help="the folder of a model such as MiniLM")
    parser.add_argument("--tasks", type=int, default=tasks.TASKS, help="how many tasks")
    parser.add_argument("--seed", type=int, default=tasks.SEED, help="by which they are chosen")
    return parsed(parser, arguments, PARTS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
