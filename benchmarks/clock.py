"""A clock of steps: the machine's seconds, and the gestures of a person in a window."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.support.lab_canvas import Canvas
from tests.support.lab_gestures import Gestures, count_gestures, gestures

from . import page


@dataclass(frozen=True)
class TimedStep:
    """A step, with the machine's seconds and, where a window was open, its gestures."""

    name: str
    seconds: float
    gestures: Gestures | None

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """The row of the table."""
        if (hands := self.gestures) is None:
            return self.name, f"{self.seconds:.1f}", "", ""
        counts = f"{hands.clicks}, {hands.drags}, {hands.keys}"
        return self.name, f"{self.seconds:.1f}", counts, f"{hands.seconds:.0f}"


@dataclass
class Clock:
    """Times steps, one after the other."""

    steps: list[TimedStep] = field(default_factory=list)

    @contextmanager
    def step(self, name: str, window: Canvas | None = None) -> Iterator[None]:
        """Time the block; with a window also count the gestures in it."""
        if window:
            count_gestures(window.page)
        start = time.perf_counter()
        yield
        seconds = time.perf_counter() - start
        self.steps.append(TimedStep(name, seconds, gestures(window.page) if window else None))
        print(f"{seconds:7.1f} s  {name}", flush=True)

    def table(self) -> str:
        """Return the steps as a table of Markdown, with their sum."""
        machine = sum(x.seconds for x in self.steps)
        hands = sum(x.gestures.seconds for x in self.steps if x.gestures)
        total = "**all**", f"**{machine:.0f}**", "", f"**{hands:.0f}**"
        head = "step", "machine, s", "clicks, drags, keys", "hands, s"
        return page.table(head, [*(x.cells for x in self.steps), total])
