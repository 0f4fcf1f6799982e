"""Measure how tools are found: `python -m benchmarks.search --data FOLDER --scorer FILE`.

A whole run writes its tables into `docs/measured.md`; one of some parts only prints them.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..index_speed import SEARCH, report
from ..measuring import Report, measure, parser_of
from ..rows import size
from . import quality, tasks, tokens
from .sets import ToolSet, read_sets
from .vectors import CachedVectors

COMMAND = "make bench-search"
PARTS = ("quality", "speed", "tokens", "tasks")
_SPEED_QUERIES, _SPEED_SEED = size(400, 10), 20


def main(arguments: Sequence[str]) -> int:
    """Measure the parts that are named, or all; 1 if a goal was missed."""
    parser = parser_of("python -m benchmarks.search", __doc__, PARTS)
    parser.add_argument("--embed", type=Path, help="the folder of a model such as MiniLM")
    parser.add_argument("--tasks", type=int, default=tasks.TASKS, help="how many tasks")
    parser.add_argument("--seed", type=int, default=tasks.SEED, help="by which they are chosen")
    options = parser.parse_args(arguments)
    sets = read_sets(options.data)
    parts = {
        "quality": lambda: measure_quality(sets, options.scorer, options.embed),
        "speed": lambda: measure_speed(sets),
        "tokens": lambda: measure_tokens(sets),
        "tasks": lambda: measure_tasks(sets, options.seed, options.tasks),
    }
    return measure(parts, options.only, COMMAND)


def measure_quality(sets: Sequence[ToolSet], scorer: Path, model: Path | None) -> Report:
    """Measure the quality of the search."""
    scores = quality.measure(sets, scorer, CachedVectors(model) if model else None)
    text = f"{quality.markdown(scores, sets)}\n\n{quality.means_over_sets(scores)}"
    return f"### Quality\n\n{text}", quality.misses(scores)


def measure_speed(sets: Sequence[ToolSet]) -> Report:
    """Measure the speed of the search."""
    queries = [query for x in sets for query in x.queries]
    return report(SEARCH, sets, random.Random(_SPEED_SEED).choices(queries, k=_SPEED_QUERIES))


def measure_tokens(sets: Sequence[ToolSet]) -> Report:
    """Measure the tokens of tools in a request."""
    try:
        bundles, turns = tokens.measure_estimate(sets), tokens.measure_turns(sets)
    except (OSError, subprocess.SubprocessError) as error:
        return f"### Tokens\n\nNot measured: {error}", ["tokens were not counted"]
    texts = tokens.turns_markdown(turns), tokens.estimate_markdown(bundles)
    return "\n\n".join(("### Tokens", *texts)), tokens.misses(bundles)


def measure_tasks(sets: Sequence[ToolSet], seed: int, count: int) -> Report:
    """Measure which tools agents call."""
    try:
        work, plain = tasks.choose(sets, seed, count), tasks.plain(sets, seed)
    except LookupError as error:
        return f"### Tasks\n\nNot measured: {error}", ["tasks were not tried"]
    with tempfile.TemporaryDirectory() as folder:
        results = tasks.measure(work, Path(folder))
        if plain.tasks:
            results += tasks.measure(plain, Path(folder), tasks.PLAIN_WAYS)
    return f"### Tasks\n\n{tasks.markdown(results)}", tasks.misses(results)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
