"""Measured values with their targets, and the clocks that measure them.

Ratios are measured in turns, round by round. With `BENCH_SMALLEST` set, benchmarks measure as
little as they can and no target counts: that only shows that they still run.
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
    """One measured value. `target` is its upper limit, or None."""

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
    def cells(self) -> tuple[str, str, str]:
        """The cells of a row on a page, without the detail; a missed target is marked."""
        target = "" if self.target is None else f"{self.target:g}{self.unit}"
        missed = ", missed" if self.is_missed else ""
        return self.what, f"{self.value:.2f}{self.unit}", f"{target}{missed}"

    @property
    def line(self) -> str:
        """The row as text, with a mark where the target is missed."""
        target = "" if self.target is None else f"  (target {self.target:g}{self.unit})"
        missed = "  MISSED" if self.is_missed else ""
        detail = f"  {self.detail}" if self.detail else ""
        return f"{self.what:<58} {self.value:6.2f}{self.unit}{target}{missed}{detail}"


def compare(
    what: str,
    ours: Callable[[], object],
    bare: Callable[[], object],
    rounds: int,
    target: float | None = None,
) -> Row:
    """Return the median of ours/bare over rounds in which both run, with the spread.

    The order changes from round to round, so that other work of the machine slows both alike.
    """
    ratios: list[float] = []
    for number in range(rounds):
        if number % 2:
            one, other = seconds(ours), seconds(bare)
        else:
            other, one = seconds(bare), seconds(ours)
        ratios.append(one / other)
    spread = f"[{min(ratios):.2f} to {max(ratios):.2f}]"
    return Row(what, statistics.median(ratios), "x", target, spread)


def seconds(
    function: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> float:
    """Return the seconds that one call takes."""
    start = clock()
    function()
    return clock() - start


def processor_seconds(function: Callable[[], object]) -> float:
    """Return the processor time of one call, which a busy machine does not lengthen."""
    return seconds(function, time.process_time)
