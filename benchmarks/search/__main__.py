"""Measure how tools are found: `python -m benchmarks.search --data FOLDER --scorer FILE`.

A whole run writes its tables into `docs/search.md`; one of some parts only prints them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from .. import page
from . import quality, speed, tasks, tokens
from .sets import ToolSet, read_sets
from .vectors import KeptVectors

COMMAND = "make bench-search"
PAGE = page.PAGE.with_name("search.md")

# The tables of a part with what is to be said of them, and which targets were missed.
Told = tuple[str, list[str]]


def main(arguments: Sequence[str]) -> int:
    """Measure what is asked for; 1 if a target was missed."""
    asked = _asked(arguments)
    sets = read_sets(asked.data)
    parts: dict[str, Callable[[], Told]] = {
        "quality": lambda: measure_quality(sets, asked.scorer, asked.embed),
        "speed": lambda: measure_speed(sets),
        "tokens": lambda: measure_tokens(sets),
        "tasks": lambda: measure_tasks(sets, asked.seed, asked.tasks),
    }
    wanted = asked.only.split(",") if asked.only else list(parts)
    began = time.monotonic()
    texts: list[str] = []
    missed: list[str] = []
    for name in wanted:
        text, misses = parts[name]()
        texts.append(text)
        missed += misses
        print(f"\n{text}\n", flush=True)
    minutes = (time.monotonic() - began) / 60
    for line in missed:
        print(f"missed: {line}", file=sys.stderr)
    if not asked.only:
        head = f"{page.machine()} The run took {minutes:.0f} minutes."
        page.write(COMMAND, "\n\n".join([head, *texts, _verdict(missed)]), PAGE)
        print(f"Written to {PAGE}.")
    return 1 if missed else 0


def measure_quality(sets: Sequence[ToolSet], scorer: Path, model: Path | None) -> Told:
    """How well tools are found."""
    with ExitStack() as stack:
        embed = stack.enter_context(KeptVectors(model)) if model else None
        table = quality.measure(sets, scorer, embed)
    text = f"{quality.markdown(table, sets)}\n\n{quality.milliseconds(table)}"
    return f"### Quality\n\n{text}", quality.misses(table)


def measure_speed(sets: Sequence[ToolSet]) -> Told:
    """How fast tools are found."""
    with tempfile.TemporaryDirectory() as folder:
        speeds = speed.measure(sets, Path(folder))
    importing = speed.import_milliseconds()
    return f"### Speed\n\n{speed.markdown(speeds, importing)}", speed.misses(speeds, importing)


def measure_tokens(sets: Sequence[ToolSet]) -> Told:
    """What tools cost in a request."""
    try:
        bundles, turns = tokens.measure_estimate(sets), tokens.measure_turns(sets)
    except (OSError, subprocess.SubprocessError) as error:
        return f"### Tokens\n\nNot measured: {error}", ["tokens were not counted"]
    tables = tokens.turns_markdown(turns), tokens.estimate_markdown(bundles)
    between = "The estimate, over what is counted of bundles of twenty tools:"
    return "\n\n".join(("### Tokens", tables[0], between, tables[1])), tokens.misses(bundles)


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
    try:
        table = tasks.markdown(found, counted=True)
    except (OSError, subprocess.SubprocessError):
        table = tasks.markdown(found, counted=False)
    return f"### Tasks\n\n{table}", tasks.misses(found)


def _verdict(missed: Sequence[str]) -> str:
    if not missed:
        return "All targets are met."
    return "Targets that are missed:\n\n" + "\n".join(f"- {x}" for x in missed)


def _asked(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder with one for each set")
    parser.add_argument("--scorer", type=Path, required=True, help="a Python program that scores")
    parser.add_argument("--embed", type=Path, help="the folder of a model such as MiniLM")
    parser.add_argument("--only", default="", help="any of: quality,speed,tokens,tasks")
    parser.add_argument("--tasks", type=int, default=tasks.TASKS, help="how many tasks")
    parser.add_argument("--seed", type=int, default=tasks.SEED, help="by which they are chosen")
    asked = parser.parse_args(arguments)
    if unknown := {x for x in asked.only.split(",") if x} - {"quality", "speed", "tokens", "tasks"}:
        parser.error(f"no part {sorted(unknown)[0]!r}; there are: quality, speed, tokens, tasks")
    return asked


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
