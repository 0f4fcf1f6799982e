"""A clock of steps: the machine's seconds, and what hands do in a window."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.support.lab_canvas import Canvas
from tests.support.lab_gestures import Gestures, count_gestures, gestures


@dataclass
class Clock:
    """The steps as they are taken: each with its seconds, and what hands did."""

    rows: list[tuple[str, float, Gestures | None]] = field(default_factory=list)

    @contextmanager
    def step(self, what: str, window: Canvas | None = None) -> Iterator[None]:
        """Measure what happens in the block; with a window also the gestures in it."""
        if window:
            count_gestures(window.page)
        began = time.perf_counter()
        yield
        taken = time.perf_counter() - began
        self.rows.append((what, taken, gestures(window.page) if window else None))
        print(f"{taken:7.1f} s  {what}", flush=True)

    def table(self) -> str:
        """The steps as a table of Markdown, with their sum."""
        head = [
            "| step | machine, s | clicks, drags, keys | hands, s |",
            "| --- | --- | --- | --- |",
        ]
        steps = [_row(*x) for x in self.rows]
        machine = sum(seconds for _, seconds, _ in self.rows)
        hands = sum(done.seconds for _, _, done in self.rows if done)
        return "\n".join([*head, *steps, f"| **all** | **{machine:.0f}** |  | **{hands:.0f}** |"])


def _row(what: str, seconds: float, done: Gestures | None) -> str:
    if done is None:
        return f"| {what} | {seconds:.1f} |  |  |"
    counts = f"{done.clicks}, {done.drags}, {done.keys}"
    return f"| {what} | {seconds:.1f} | {counts} | {done.seconds:.0f} |"
