"""`python -m benchmarks.lessons`: the hour of a workshop, and the steps it is made of."""

from __future__ import annotations

import re

import pytest

from benchmarks.lessons import COMMAND, HOUR_MINUTES, minutes, words_to_read
from benchmarks.page import END, PAGE, begin
from tests.support.lab_gestures import Gestures
from tests.support.lesson_steps import STEPS
from tools.build_lessons import WORKSHOP
from xai_mcp_agent.canvas.workshop.lessons import LESSONS, Lesson

each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)


def written() -> str:
    """What the benchmark wrote into the page."""
    return PAGE.read_text(encoding="utf-8").partition(begin(COMMAND))[2].partition(END)[0]


def row(lesson: Lesson) -> list[int]:
    """Return the figures of a lesson in the table."""
    (cells,) = re.findall(rf"^\| `{lesson.folder}` \|(.*)\|$", written(), re.MULTILINE)
    return [int(x) for x in cells.split("|")]


@each_lesson
def test_every_step_that_a_readme_numbers_is_taken_with_the_mouse(lesson: Lesson) -> None:
    text = (WORKSHOP / lesson.folder / "README.md").read_text(encoding="utf-8")
    steps = text.partition("## Steps")[2].partition("\n## ")[0]
    numbers = [int(x) for x in re.findall(r"^(\d+)\. ", steps, re.MULTILINE)]
    assert numbers == list(range(1, len(STEPS[lesson.name]) + 1))


@each_lesson
def test_the_minutes_of_a_lesson_are_those_of_its_gestures_and_words(lesson: Lesson) -> None:
    """A README that becomes longer, or another model of hands, wants the table anew."""
    total, clicks, drags, keys, hands, machine, words = row(lesson)
    assert words == words_to_read(lesson), "write it anew with: make lessons"
    assert total == minutes(hands, machine, words)
    typed = [Gestures(clicks, drags, texts, keys).seconds for texts in (1, 8)]
    assert round(typed[0]) <= hands <= round(typed[1])


def test_five_lessons_leave_time_to_talk_in_an_hour() -> None:
    total = sum(row(lesson)[0] for lesson in LESSONS)
    assert f"| **all** | **{total}** |" in written()
    assert f"leave {HOUR_MINUTES - total} minutes" in written()
    assert total <= HOUR_MINUTES - 15
