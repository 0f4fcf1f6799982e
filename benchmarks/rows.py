"""A measured ratio with its target, and how ratios are measured: in turn, round by round.

With `BENCH_SMALLEST` set, benchmarks measure as little as they can and no target counts: that
shows that they still run, and nothing else.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

SMALLEST_VARIABLE = "BENCH_SMALLEST"
IS_SMALLEST = bool(os.environ.get(SMALLEST_VARIABLE))


def size(whole: int, smallest: int) -> int:
    """Return the size to measure: `whole` for figures, `smallest` to check that it runs."""
    return smallest if IS_SMALLEST else whole


@dataclass(frozen=True)
class Row:
    """One figure. `target` is the most it should be; None where there is none."""

    what: str
    value: float
    unit: str
    target: float | None = None
    detail: str = ""

    @property
    def is_missed(self) -> bool:
        """Whether it has a target and is above it."""
        return self.target is not None and self.value > self.target and not IS_SMALLEST

    @property
    def markdown(self) -> str:
        """Return the row of a table on a page, without the detail; a missed target is marked."""
        target = "" if self.target is None else f"{self.target:g}{self.unit}"
        missed = ", missed" if self.is_missed else ""
        cells = (self.what, f"{self.value:.2f}{self.unit}", f"{target}{missed}")
        return f"| {' | '.join(cells)} |"

    @property
    def line(self) -> str:
        """The row as text, with a mark where the target is missed."""
        mark = "" if self.target is None else f"  (target {self.target:g}{self.unit})"
        missed = "  MISSED" if self.is_missed else ""
        detail = f"  {self.detail}" if self.detail else ""
        return f"{self.what:<58} {self.value:6.2f}{self.unit}{mark}{missed}{detail}"


def seconds(do: Callable[[], object]) -> float:
    """Return the seconds of one call."""
    started = time.perf_counter()
    do()
    return time.perf_counter() - started


def ratio(ours: Callable[[], object], bare: Callable[[], object], rounds: int) -> tuple[float, str]:
    """The median of ours/bare over rounds in which both ran in turn, and the spread.

    The order changes from round to round: what the machine does besides hurts both alike.
    """
    ratios: list[float] = []
    for number in range(rounds):
        if number % 2:
            one, other = seconds(ours), seconds(bare)
        else:
            other, one = seconds(bare), seconds(ours)
        ratios.append(one / other)
    return statistics.median(ratios), f"[{min(ratios):.2f} to {max(ratios):.2f}]"
