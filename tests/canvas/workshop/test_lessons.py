"""The lessons: an untouched lesson fails, its solution passes, and its page tells the truth.

Every lesson is run here as a learner finds it and as its solution, once for all tests.
"""

from __future__ import annotations

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.support.scripts import child_environment
from tests.support.warm_python import warm_python
from tools.build_lessons import WORKSHOP, solution_of, start_of
from tools.components import all_components
from xai_mcp_agent.canvas.workshop.check import LessonCheck, check_lesson
from xai_mcp_agent.canvas.workshop.lessons import LESSONS, Lesson
from xai_mcp_agent.cli.init import init_folder

# Words in READMEs that look like ports and are none: tools, servers, values, files.
NO_PORTS = re.compile(
    r"[/.<>'\" ]|^(library|units|calendar|find|about|books|name|make_badge|opening_hours)$"
)

each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)


def check_all(folder: Path, texts: dict[str, str]) -> dict[str, LessonCheck]:
    """Check each lesson in a new learner's folder, with these texts as its workflows."""
    lab = init_folder(folder / "lab", workshop=True).folder
    for lesson in LESSONS:
        home = lab / "workshop" / lesson.folder
        assert {x.name for x in home.iterdir()} == {"README.md", lesson.workflow}
        (home / lesson.workflow).write_text(texts[lesson.folder], encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as pool:
        patch.setattr(os, "environ", child_environment(lab))
        patch.setattr(sys, "executable", warm_python())
        return {x.lesson: x for x in pool.map(partial(check_lesson, lab), LESSONS)}


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LessonCheck]:
    """The lessons as a learner finds them, saved once more."""
    texts = {x.folder: f"{start_of(x).text()}\n" for x in LESSONS}
    return check_all(tmp_path_factory.mktemp("start"), texts)


@pytest.fixture(scope="module")
def solutions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LessonCheck]:
    texts = {x.folder: solution_of(x).text() for x in LESSONS}
    return check_all(tmp_path_factory.mktemp("done"), texts)


# What happens in them


@each_lesson
def test_an_untouched_lesson_runs_and_says_what_to_do_next(
    lesson: Lesson, starts: dict[str, LessonCheck]
) -> None:
    """The learner has something real to do, and sees a workflow run before that."""
    check = starts[lesson.folder]
    assert check.problem is None
    assert check.met_count < len(check.goals)
    for goal in check.goals:
        assert bool(goal.missing) is not goal.is_met
        assert goal.is_met or re.search(r"\w{3}.*[.:`]$|\.\.\.$", goal.missing), goal


@each_lesson
def test_the_solution_meets_its_goals_and_prints_what_the_page_shows(
    lesson: Lesson, solutions: dict[str, LessonCheck]
) -> None:
    """The page shows the card's lines, the solution prints those of a terminal."""
    check = solutions[lesson.folder]
    assert [x for x in check.goals if not x.is_met] == []
    assert (check.is_done, check.problem, check.notes) == (True, None, ())
    output = Path(check.output or "").read_text(encoding="utf-8")
    assert output.rstrip().endswith("Finished Executing")
    output = output.replace("== agent: ", "agent ").replace("-> ", "\u2713 ")
    assert [line for line in expected_lines(readme(lesson)) if line not in output] == []


# The READMEs


def readme(lesson: Lesson) -> str:
    return (WORKSHOP / lesson.folder / "README.md").read_text(encoding="utf-8")


def expected_lines(text: str) -> list[str]:
    """The lines that a README says one should see."""
    section = text.partition("## What you should see")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```\n(.*?)```", section, re.DOTALL)
    return block.splitlines()


@each_lesson
def test_a_readme_has_all_its_parts_and_names_nodes_and_ports_that_exist(lesson: Lesson) -> None:
    text = readme(lesson)
    heads = re.findall(r"^## (.*)", text, re.MULTILINE)
    assert heads == ["Steps", "What you should see", "What to try next", "Common mistakes"]
    assert text.startswith(f"# {lesson.number}. {lesson.title}\n")
    assert "**Goal:**" in text
    assert lesson.workflow in text
    ports = {port.name for x in all_components().values() for port in x.ports}
    for word in re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        if re.fullmatch(r"[A-Z]\w*", word) and word != "None":
            assert word in all_components()
        elif re.fullmatch(r"[a-z_]+", word) and not NO_PORTS.search(word):
            assert word in ports | {"offline"}


def test_the_first_page_leads_to_every_lesson() -> None:
    text = (WORKSHOP / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((.*?)\)", text) == [f"{x.folder}/README.md" for x in LESSONS]
