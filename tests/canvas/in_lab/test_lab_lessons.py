"""The last lesson of the workshop, each step with the mouse, until all its goals are met; and
the goals of the first one in the panel."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.canvas_file import load, problems
from tests.support.lab_canvas import Canvas
from tests.support.lab_panel import Panel
from tests.support.lesson_steps import Learner
from xai_mcp_agent.canvas.workshop.lessons import WORKSHOP, lesson_called
from xai_mcp_agent.cli.init import init_folder

pytestmark = pytest.mark.browser


def test_the_panel_ticks_the_goals_of_a_lesson(canvas: Canvas, panel: Panel, folder: Path) -> None:
    init_folder(folder, workshop=True)
    lesson = lesson_called("1")
    canvas.open_workflow(f"{WORKSHOP}/{lesson.folder}/{lesson.workflow}")
    panel.begin_anew().run()
    goals = panel.turns.last.locator(".xai-goals")
    expect(goals).to_contain_text(f"Lesson 1, {lesson.title}")
    expect(goals.locator("[data-met=false]").first).to_be_visible()
    expect(goals.locator("[data-met=true]").first).to_be_visible()
    assert canvas.errors() == []


def test_a_learner_builds_an_agent_by_dropping_nodes_onto_the_dashed_line(
    canvas: Canvas, folder: Path
) -> None:
    init_folder(folder, workshop=True)
    lesson = lesson_called("5")
    Learner(canvas, lesson).take_all()
    goals = canvas.page.locator("#xircuit-output-panel .jp-OutputArea-child", has_text="goals met")
    expect(goals.last).to_be_in_viewport(ratio=0.95)  # it has a margin
    drawn = load(folder / WORKSHOP / lesson.folder / lesson.workflow)
    assert problems(drawn, lesson.name) == []
    assert canvas.errors() == []
