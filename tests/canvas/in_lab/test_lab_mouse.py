"""The palette, a newcomer's first workflow, and the last lesson of the workshop: by mouse."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.canvas_file import load, problems
from tests.support.first_workflow import ANSWER, complete, draw
from tests.support.lab_canvas import Canvas
from tests.support.lab_drawing import measure
from tests.support.lab_mouse import Mouse
from tests.support.lab_palette import Palette, assert_it_tells
from tests.support.lab_panel import Panel
from tests.support.lesson_steps import Learner
from xai_mcp_agent.canvas.workshop.lessons import WORKSHOP, find_lesson
from xai_mcp_agent.cli.init import init_folder
from xai_mcp_agent.drawing.components import our_components

pytestmark = pytest.mark.browser

NAME = "my_agent"
EMPTY = 400, 500  # a place of the canvas below all nodes


def test_a_node_explains_itself_completely_when_the_mouse_rests_on_it(small: Canvas) -> None:
    """The whole text, with headings as headings, without marks, and all of it in a small window."""
    palette = Palette(small)
    palette.hurry()
    height = small.page.evaluate("innerHeight")
    longest = sorted(our_components().values(), key=lambda x: len(x.description))[-10:]
    for cls in longest:
        tip = palette.explain(cls.name)
        assert_it_tells(tip, cls.description)
        assert tip.place["y"] >= 0, cls.name
        assert tip.place["y"] + tip.place["height"] <= height, cls.name
    assert small.errors() == []


def test_drops_are_undone_and_deleted_and_nothing_else_is(small: Canvas) -> None:
    """As the workshop says: every node dropped so far is selected, and the canvas has no focus."""
    small.close_panel()
    small.new_workflow()
    mouse = Mouse(small)
    mouse.click(*EMPTY)
    mouse.drop("AgentMakeToolbelt", 450, 60)
    mouse.click(*EMPTY)
    small.page.keyboard.press("ControlOrMeta+z")
    small.node("AgentMakeToolbelt").wait_for(state="detached")
    assert sorted(x.name for x in small.drawn()) == ["Finish", "Start"]
    mouse.drop("AgentUseMCPTools", 200, 60)
    mouse.drop("AgentMakeToolbelt", 450, 60)
    mouse.click(*EMPTY)
    small.node("AgentMakeToolbelt").click(position={"x": 60, "y": 10})
    small.page.keyboard.press("Delete")
    small.node("AgentMakeToolbelt").wait_for(state="detached")
    assert sorted(x.name for x in small.drawn()) == ["AgentUseMCPTools", "Finish", "Start"]


def test_a_newcomer_draws_an_agent_and_it_answers(
    small: Canvas, panel: Panel, folder: Path
) -> None:
    """As the README has it: menus, the palette, arrows, boxes for texts, the panel."""
    draw(small)
    assert "Candide" in panel.open().ask("Which books do you have about travel?")
    complete(small, NAME)
    assert measure(small).faults() == []
    assert beside(small) == []
    assert problems(load(folder / f"{NAME}.xircuits"), NAME) == []
    panel.open()
    assert ANSWER in panel.run(), "what is drawn asks about the sea"
    assert small.errors() == []


def test_a_learner_builds_an_agent_by_dropping_nodes_onto_the_dashed_line(
    canvas: Canvas, folder: Path
) -> None:
    """Each step of the last lesson, until all its goals are met."""
    init_folder(folder, workshop=True)
    lesson = find_lesson("5")
    Learner(canvas, lesson).take_all()
    goals = canvas.page.locator("#xircuit-output-panel .jp-OutputArea-child", has_text="goals met")
    expect(goals.last).to_be_in_viewport(ratio=0.95)  # it has a margin
    document = load(folder / WORKSHOP / lesson.folder / lesson.workflow)
    assert problems(document, lesson.name) == []
    assert canvas.errors() == []


def beside(canvas: Canvas) -> list[str]:
    """The nodes that are not wholly to be seen."""
    area = canvas.area()
    right, bottom = area["x"] + area["width"], area["y"] + area["height"]
    places = {x.name: canvas.node(x.name).bounding_box() for x in canvas.drawn() if not x.is_held}
    return [
        name
        for name, box in places.items()
        if not box
        or box["x"] < area["x"] or box["x"] + box["width"] > right
        or box["y"] < area["y"] or box["y"] + box["height"] > bottom
    ]  # fmt: skip
