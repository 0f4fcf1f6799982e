"""Measure plans: `python -m benchmarks.planning --data FOLDER --scorer FILE`.

A whole run writes its tables into `docs/measured.md`; one of some parts only prints them.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .. import page
from ..measuring import Told, measure, parsed, parser_of
from . import quality, speed
from .sets import PlanSet, read_sets

COMMAND = "make bench-planning"
PAGE = page.PAGE
PARTS = ("quality", "speed")


def main(arguments: Sequence[str]) -> int:
    """Measure what is asked for; 1 if a goal was missed."""
    parser = parser_of("python -m benchmarks.planning", __doc__, PARTS)
    asked = parsed(parser, arguments, PARTS)
    sets = read_sets(asked.data)
    parts = {"quality": lambda: _quality(sets, asked.scorer), "speed": lambda: _speed(sets)}
    return measure(parts, asked.only, COMMAND, PAGE)


def _quality(sets: Sequence[PlanSet], scorer: Path) -> Told:
    scored = quality.measure(sets, scorer)
    return f"### Quality\n\n{quality.markdown(scored)}", quality.misses(scored)


def _speed(sets: Sequence[PlanSet]) -> Told:
    with tempfile.TemporaryDirectory() as folder:
        speeds = speed.measure(sets, Path(folder))
    importing = speed.import_milliseconds()
    return f"### Speed\n\n{speed.markdown(speeds, importing)}", speed.misses(speeds, importing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
