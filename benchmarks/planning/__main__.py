"""Measure plans: `python -m benchmarks.planning --data FOLDER --scorer FILE`.

A whole run writes its tables into `docs/measured.md`; one of some parts only prints them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ..index_speed import PLANNER, report
from ..measuring import Report, measure, parser_of
from ..rows import size
from . import quality
from .sets import PlanSet, read_sets

COMMAND = "make bench-planning"
_REQUESTS = size(150, 5)


def main(arguments: Sequence[str]) -> int:
    """Measure the parts that are named, or all; 1 if a goal was missed."""
    parser = parser_of("python -m benchmarks.planning", __doc__, ("quality", "speed"))
    options = parser.parse_args(arguments)
    sets = read_sets(options.data)
    parts = {
        "quality": lambda: measure_quality(sets, options.scorer),
        "speed": lambda: measure_speed(sets),
    }
    return measure(parts, options.only, COMMAND)


def measure_quality(sets: Sequence[PlanSet], scorer: Path) -> Report:
    """Measure the quality of plans."""
    scores = quality.measure(sets, scorer)
    return f"### Quality\n\n{quality.markdown(scores)}", quality.misses(scores)


def measure_speed(sets: Sequence[PlanSet]) -> Report:
    """Measure the speed of plans."""
    requests = [y for x in sets for y in x.queries]
    return report(PLANNER, sets, requests[:: max(len(requests) // _REQUESTS, 1)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
