"""The hour of a workshop: each lesson, step by step, in a real lab with a real mouse.

What a machine takes is measured, what hands do is counted, and told in seconds by the
keystroke-level model; words to read are those of the README up to what to try next. A learner is
given more time than that. `make lessons` writes into `docs/measured.md`; without `--table` it only
prints.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.lab import browser, chromium, lab, open_lab
from tests.support.lab_canvas import Canvas
from tests.support.lab_gestures import Gestures
from tests.support.lesson_steps import HEIGHT, WIDTH, Learner
from tests.support.scripts import child_environment
from xai_mcp_agent.canvas.workshop.lessons import LESSONS, WORKSHOP, Lesson

from . import page
from .clock import Clock
from .rows import size

COMMAND = "make lessons"
HOUR_MINUTES = 60
BEGINNER = 3  # times as long as practised hands take, which the model is of
WORDS_A_MINUTE = 100  # instructions, in a language that need not be one's own

_HEAD = """\
| lesson | minutes | clicks | drags | keys | hands, s | the machine, s | words |
| --- | --- | --- | --- | --- | --- | --- | --- |"""
_INIT_SECONDS = 60
_ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Measured:
    """A lesson that was taken, from opening its file to a run that meets all goals."""

    lesson: Lesson
    done: Gestures
    machine_seconds: float

    @property
    def row(self) -> str:
        """The row of the table."""
        hands, machine = round(self.done.seconds), round(self.machine_seconds)
        words = words_to_read(self.lesson)
        cells = (
            f"`{self.lesson.folder}`", minutes(hands, machine, words), self.done.clicks,
            self.done.drags, self.done.keys, hands, machine, words,
        )  # fmt: skip
        return f"| {' | '.join(map(str, cells))} |"


def minutes(hands_seconds: int, machine_seconds: int, words: int) -> int:
    """Return the minutes that a beginner needs for a lesson."""
    return math.ceil((BEGINNER * hands_seconds + machine_seconds) / 60 + words / WORDS_A_MINUTE)


def words_to_read(lesson: Lesson) -> int:
    """The words of a lesson's README up to what to try next, without what a run prints."""
    readme = _ROOT / "examples" / WORKSHOP / lesson.folder / "README.md"
    text = readme.read_text(encoding="utf-8").partition("## What to try next")[0]
    return len(re.sub(r"```.*?```", "", text, flags=re.DOTALL).split())


def table(measured: Sequence[Measured]) -> str:
    """The hour as a table of Markdown, and what it leaves."""
    given = sum(minutes(round(x.done.seconds), round(x.machine_seconds), words_to_read(x.lesson))
                for x in measured)  # fmt: skip
    rows = "\n".join(x.row for x in measured)
    last = f"| **all** | **{given}** |" + " |" * 6
    rest = f"The lessons leave {HOUR_MINUTES - given} minutes of an hour to show and to talk."
    return f"{page.machine()}\n\n{_HEAD}\n{rows}\n{last}\n\n{rest}"


def main(arguments: Sequence[str]) -> int:
    """Take all lessons once; 2 where there is no browser."""
    if chromium() is None:
        print("There is no Chromium on this machine.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="lessons-") as root:
        text = table(list(_take_all(Path(root))))
    print(f"\n{text}")
    if "--table" in arguments:
        page.write(COMMAND, text)
        print(f"\nWritten to {page.PAGE}.")
    return 0


def _take_all(root: Path) -> Iterator[Measured]:
    folder, around = root / "learner", child_environment(root)
    command = [Path(sys.executable).with_name("xai-mcp-agent"), "init", "--workshop", folder]
    subprocess.run(
        command, env=around, check=True, timeout=_INIT_SECONDS, stdout=subprocess.DEVNULL
    )
    with browser() as running, lab(folder, variables=around) as address:
        window = open_lab(running, address, width=WIDTH, height=HEIGHT)
        for lesson in LESSONS[: size(len(LESSONS), 1)]:
            yield _take(window, lesson)


def _take(window: Canvas, lesson: Lesson) -> Measured:
    clock = Clock()
    with clock.step(lesson.title, window):
        Learner(window, lesson).take_all()
    ((_, seconds, done),) = clock.rows
    assert done is not None
    return Measured(lesson, done, seconds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
