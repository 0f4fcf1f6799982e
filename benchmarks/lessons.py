"""The hour of a workshop: each lesson, step by step, in a real lab with a real mouse.

The machine's seconds are measured; gestures are counted and converted to seconds by the
keystroke-level model; the words to read are those of the README up to "What to try next". A
beginner gets more time than that. `make lessons` writes into `docs/measured.md`; without `--table`
it only prints.
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
BEGINNER = 3  # times as long as the practised hands of the model
WORDS_A_MINUTE = 100  # instructions, perhaps in a foreign language

_HEAD = ("lesson", "minutes", "clicks", "drags", "keys", "hands, s", "the machine, s", "words")
_INIT_SECONDS = 60
_ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class TimedLesson:
    """A complete lesson, from opening its file to a run that meets all goals."""

    lesson: Lesson
    gestures: Gestures
    machine_seconds: float

    @property
    def minutes(self) -> int:
        """The minutes that a beginner needs."""
        hands, machine = round(self.gestures.seconds), round(self.machine_seconds)
        return minutes(hands, machine, words_to_read(self.lesson))

    @property
    def cells(self) -> tuple[object, ...]:
        """The row of the table."""
        hands, words = self.gestures, words_to_read(self.lesson)
        counts = hands.clicks, hands.drags, hands.keys, round(hands.seconds)
        name = f"`{self.lesson.folder}`"
        return name, self.minutes, *counts, round(self.machine_seconds), words


def minutes(hands_seconds: int, machine_seconds: int, words: int) -> int:
    """Return the minutes that a beginner needs for a lesson."""
    return math.ceil((BEGINNER * hands_seconds + machine_seconds) / 60 + words / WORDS_A_MINUTE)


def words_to_read(lesson: Lesson) -> int:
    """Return the number of words in a lesson's README up to "What to try next", without output."""
    readme = _ROOT / "examples" / WORKSHOP / lesson.folder / "README.md"
    text = readme.read_text(encoding="utf-8").partition("## What to try next")[0]
    return len(re.sub(r"```.*?```", "", text, flags=re.DOTALL).split())


def table(lessons: Sequence[TimedLesson]) -> str:
    """Return the hour as a table of Markdown, and the remaining minutes."""
    total = sum(x.minutes for x in lessons)
    text = page.table(_HEAD, [x.cells for x in lessons])
    last = f"| **all** | **{total}** |" + " |" * 6
    rest = f"The lessons leave {HOUR_MINUTES - total} minutes of an hour to show and to talk."
    return f"{page.machine()}\n\n{text}\n{last}\n\n{rest}"


def main(arguments: Sequence[str]) -> int:
    """Take all lessons once; 2 without a browser."""
    if chromium() is None:
        print("There is no Chromium on this machine.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="lessons-") as root:
        text = table(list(_take_all(Path(root))))
    print(f"\n{text}")
    if "--table" in arguments:
        page.write(COMMAND, text)
    return 0


def _take_all(root: Path) -> Iterator[TimedLesson]:
    folder, variables = root / "learner", child_environment(root)
    command = [Path(sys.executable).with_name("xai-mcp-agent"), "init", "--workshop", folder]
    subprocess.run(
        command, env=variables, check=True, timeout=_INIT_SECONDS, stdout=subprocess.DEVNULL
    )
    with browser() as running, lab(folder, variables=variables) as address:
        window = open_lab(running, address, width=WIDTH, height=HEIGHT)
        for lesson in LESSONS[: size(len(LESSONS), 1)]:
            yield _take(window, lesson)


def _take(window: Canvas, lesson: Lesson) -> TimedLesson:
    clock = Clock()
    with clock.step(lesson.title, window):
        Learner(window, lesson).take_all()
    (step,) = clock.steps
    assert step.gestures is not None
    return TimedLesson(lesson, step.gestures, step.seconds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
