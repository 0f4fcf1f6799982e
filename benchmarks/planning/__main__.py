"""Measure plans: `python -m benchmarks.planning --data FOLDER --scorer FILE`.

A whole run writes its tables into `docs/planning.md`; one of some parts only prints them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from .. import page
from . import quality, speed
from .sets import PlanSet, read_sets

COMMAND = "make bench-planning"
PAGE = page.PAGE.with_name("planning.md")
PARTS = ("quality", "speed")


def main(arguments: Sequence[str]) -> int:
    """Measure what is asked for; 1 if a target was missed."""
    asked = _asked(arguments)
    sets = read_sets(asked.data)
    wanted = asked.only.split(",") if asked.only else PARTS
    began = time.monotonic()
    texts: list[str] = []
    missed: list[str] = []
    for name in wanted:
        text, misses = _quality(sets, asked.scorer) if name == "quality" else _speed(sets)
        texts.append(text)
        missed += misses
        print(f"\n{text}\n", flush=True)
    for line in missed:
        print(f"missed: {line}", file=sys.stderr)
    if not asked.only:
        minutes = (time.monotonic() - began) / 60
        head = f"{page.machine()} The run took {minutes:.0f} minutes."
        page.write(COMMAND, "\n\n".join([head, *texts, _verdict(missed)]), PAGE)
        print(f"Written to {PAGE}.")
    return 1 if missed else 0


def _quality(sets: Sequence[PlanSet], scorer: Path) -> tuple[str, list[str]]:
    scored = quality.measure(sets, scorer)
    return f"### Quality\n\n{quality.markdown(scored)}", quality.misses(scored)


def _speed(sets: Sequence[PlanSet]) -> tuple[str, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        speeds = speed.measure(sets, Path(folder))
    importing = speed.import_milliseconds()
    return f"### Speed\n\n{speed.markdown(speeds, importing)}", speed.misses(speeds, importing)


def _verdict(missed: Sequence[str]) -> str:
    if not missed:
        return "All goals are reached."
    return "Goals that are missed:\n\n" + "\n".join(f"- {x}" for x in missed)


def _asked(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planning", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder with one for each set")
    parser.add_argument("--scorer", type=Path, required=True, help="a Python program that scores")
    parser.add_argument("--only", default="", help=f"any of: {','.join(PARTS)}")
    asked = parser.parse_args(arguments)
    if unknown := {x for x in asked.only.split(",") if x} - {*PARTS}:
        parser.error(f"no part {sorted(unknown)[0]!r}; there are: {', '.join(PARTS)}")
    return asked


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
