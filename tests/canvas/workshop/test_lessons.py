"""The lessons: what is shipped is in order, an untouched one is not done, a solution is.

Every lesson is run here as a learner finds it and as its solution, once for all tests.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.support.canvas_file import load, nodes_of, problems
from tests.support.layout_faults import faults
from tests.support.scripts import child_environment
from tests.support.warm_python import warm_python
from tools.build_lessons import WORKSHOP, all_lessons, solution_of, start_of
from tools.components import all_components
from xai_mcp_agent.canvas.workshop.check import Checked, check_lesson
from xai_mcp_agent.canvas.workshop.lessons import LESSONS, Lesson
from xai_mcp_agent.cli.init import init_folder

REBUILD = "Rebuild them with: python -m tools.build_examples"
# Words in READMEs that look like ports and are none: tools, servers, values, files.
NO_PORTS = re.compile(
    r"[/.<>'\" ]|^(library|units|calendar|find|about|books|name|make_badge|opening_hours)$"
)

Checks: TypeAlias = dict[str, Checked]
each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A learner's folder in which each lesson was saved, and nothing else."""
    folder = init_folder(tmp_path_factory.mktemp("start") / "lab", workshop=True).folder
    for lesson in LESSONS:
        with (folder / "workshop" / lesson.folder / lesson.workflow).open("a") as file:
            file.write("\n")
    return folder


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with every lesson done."""
    folder = init_folder(tmp_path_factory.mktemp("done") / "lab", workshop=True).folder
    for lesson in LESSONS:
        text = solution_of(lesson).text()
        (folder / "workshop" / lesson.folder / lesson.workflow).write_text(text, encoding="utf-8")
    return folder


def checked(folder: Path) -> Checks:
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as pool:
        patch.setattr(os, "environ", child_environment(folder))
        patch.setattr(sys, "executable", warm_python())
        found = pool.map(partial(check_lesson, folder), LESSONS)
        return {x.lesson: x for x in found}


@pytest.fixture(scope="module")
def starts(started: Path) -> Checks:
    return checked(started)


@pytest.fixture(scope="module")
def solutions(solved: Path) -> Checks:
    return checked(solved)


# What is shipped


def without_line_numbers(text: str) -> object:
    return [{**x, "extras": {**x["extras"], "lineNo": 0}} for x in nodes_of(json.loads(text))]


def test_a_lesson_is_what_its_description_makes_and_has_no_faults() -> None:
    for flow, home in all_lessons():
        file = home / f"{flow.name}.xircuits"
        made = without_line_numbers(flow.text())
        assert without_line_numbers(file.read_text(encoding="utf-8")) == made, REBUILD
        assert problems(load(file), flow.name) == []
        assert faults(flow) == []
    described = {home / f"{flow.name}.xircuits" for flow, home in all_lessons()}
    assert set(WORKSHOP.rglob("*.xircuits")) == described
    for lesson in LESSONS:
        notes = [node for node in start_of(lesson).nodes if node.is_note]
        assert len(notes) >= 3
        assert all(node.extras["commentInput"].isascii() for node in notes)


@each_lesson
def test_a_learner_gets_the_lesson_and_not_its_solution(lesson: Lesson, started: Path) -> None:
    names = {x.name for x in (started / "workshop" / lesson.folder).iterdir()}
    assert names == {"README.md", lesson.workflow}
    assert not list(started.rglob("*solution*"))


# What happens in them


@each_lesson
def test_an_untouched_lesson_runs_and_says_what_to_do_next(lesson: Lesson, starts: Checks) -> None:
    """The learner has something real to do, and sees a workflow run before that."""
    found = starts[lesson.folder]
    assert found.problem is None
    assert found.met_count < len(found.goals)
    for goal in found.goals:
        assert bool(goal.missing) is not goal.is_met
        assert goal.is_met or re.search(r"\w{3}.*[.:`]$|\.\.\.$", goal.missing), goal


@each_lesson
def test_the_solution_meets_its_goals_and_prints_what_the_page_shows(
    lesson: Lesson, solutions: Checks
) -> None:
    """The page shows the card's lines, the solution prints those of a terminal."""
    found = solutions[lesson.folder]
    assert [x for x in found.goals if not x.is_met] == []
    assert (found.is_done, found.problem, found.notes) == (True, None, ())
    output = Path(found.output or "")
    printed = output.read_text(encoding="utf-8")
    assert printed.rstrip().endswith("Finished Executing")
    lines = output.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    assert all(json.loads(line)["run"] for line in lines)
    printed = printed.replace("== agent: ", "agent ").replace("-> ", "\u2713 ")
    assert [line for line in shown_in(readme(lesson)) if line not in printed] == []


# The READMEs


def readme(lesson: Lesson) -> str:
    return (WORKSHOP / lesson.folder / "README.md").read_text(encoding="utf-8")


def shown_in(text: str) -> list[str]:
    """The lines that a README says one should see."""
    section = text.partition("## What you should see")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```\n(.*?)```", section, re.DOTALL)
    return block.splitlines()


@each_lesson
def test_a_readme_has_a_page_with_all_its_parts(lesson: Lesson) -> None:
    text = readme(lesson)
    heads = re.findall(r"^## (.*)", text, re.MULTILINE)
    assert heads == ["Steps", "What you should see", "What to try next", "Common mistakes"]
    assert text.startswith(f"# {lesson.number}. {lesson.title}\n")
    assert "**Goal:**" in text
    assert lesson.workflow in text
    assert len(text.splitlines()) <= 70


def words_of(text: str) -> Iterator[str]:
    without_blocks = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    yield from re.findall(r"`([^`\n]+)`", without_blocks)


@each_lesson
def test_the_nodes_and_ports_that_a_readme_names_exist(lesson: Lesson) -> None:
    ports = {port.name for x in all_components().values() for port in x.ports}
    for word in words_of(readme(lesson)):
        if re.fullmatch(r"[A-Z]\w*", word) and word != "None":
            assert word in all_components()
        elif re.fullmatch(r"[a-z_]+", word) and not NO_PORTS.search(word):
            assert word in ports | {"offline"}


def test_the_first_page_leads_to_every_lesson() -> None:
    text = (WORKSHOP / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((.*?)\)", text) == [f"{x.folder}/README.md" for x in LESSONS]
