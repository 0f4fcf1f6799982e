"""A newcomer's first workflow, drawn with the mouse on an empty canvas as the README says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.canvas_file import load, problems
from tests.support.first_workflow import ANSWER, QUESTION, draw
from tests.support.lab_canvas import Canvas
from tests.support.lab_drawing import measure
from tests.support.lab_mouse import Mouse
from tests.support.lab_panel import Panel

pytestmark = pytest.mark.browser

EXAMPLE = "examples/ex01_quickstart.xircuits"
NAME = "my_agent"
EMPTY = 400, 500  # a place of the canvas below all nodes


def test_a_newcomer_draws_an_agent_and_it_answers(
    small: Canvas, panel: Panel, folder: Path, artefacts: Path
) -> None:
    """Each step as the README has it: the quickstart first, in the panel, which stays open.

    Buttons, menus, the palette, arrows, boxes for texts, the panel, Run: on a small laptop.
    """
    canvas = small
    canvas.show_top_folder()
    canvas.open_by_hand(EXAMPLE)
    assert ANSWER in panel.begin_anew().ask(QUESTION)
    panel.send("Bring back Jane Eyre.")
    panel.press("Allow once")
    assert "Jane Eyre" in panel.answer("done")
    draw(canvas, NAME)
    assert measure(canvas).faults() == []
    assert beside(canvas) == []
    canvas.picture(artefacts / "drawn-with-the-mouse.png")
    assert problems(load(folder / f"{NAME}.xircuits"), NAME) == []
    assert "Candide" in panel.open().ask("Which books do you have about travel?")
    assert ANSWER in panel.run()
    text = canvas.run()
    assert ANSWER in text.split("\u2713 library_search_books")[1]
    assert text.strip().endswith("Finished Executing")
    assert canvas.errors() == []


def test_a_drop_beside_the_line_is_deleted_and_nothing_else(small: Canvas) -> None:
    """As the workshop says: every node dropped so far is selected, and the canvas has no focus."""
    mouse = on_empty_canvas(small)
    mouse.drop("AgentUseMCPTools", 200, 60)
    mouse.drop("AgentMakeToolbelt", 450, 60)
    mouse.click(*EMPTY)
    small.node("AgentMakeToolbelt").click(position={"x": 60, "y": 10})
    small.page.keyboard.press("Delete")
    small.node("AgentMakeToolbelt").wait_for(state="detached")
    assert sorted(x.name for x in small.drawn()) == ["AgentUseMCPTools", "Finish", "Start"]


def test_a_drop_is_undone_after_a_click_into_the_empty_canvas(small: Canvas) -> None:
    mouse = on_empty_canvas(small)
    mouse.drop("AgentMakeToolbelt", 450, 60)
    mouse.click(*EMPTY)
    small.page.keyboard.press("ControlOrMeta+z")
    small.node("AgentMakeToolbelt").wait_for(state="detached")
    assert sorted(x.name for x in small.drawn()) == ["Finish", "Start"]


def test_names_of_tools_are_typed_as_they_are(small: Canvas) -> None:
    mouse = on_empty_canvas(small)
    mouse.drop("AgentUseMCPTools", 300, 60)
    mouse.write("AgentUseMCPTools", "parameter-string-tools", "search_books, list_*", -60, 150)
    small.literal("search_books, list_*").wait_for()


def on_empty_canvas(canvas: Canvas) -> Mouse:
    """A new workflow in which nothing is selected, above all of the window."""
    canvas.close_panel()
    canvas.new_workflow()
    mouse = Mouse(canvas)
    mouse.click(*EMPTY)
    return mouse


def beside(canvas: Canvas) -> list[str]:
    """The nodes that are not wholly to be seen."""
    area = canvas.area()
    right, bottom = area["x"] + area["width"], area["y"] + area["height"]
    places = {x.name: canvas.node(x.name).bounding_box() for x in canvas.drawn() if not x.held}
    return [
        name
        for name, box in places.items()
        if not box
        or box["x"] < area["x"] or box["x"] + box["width"] > right
        or box["y"] < area["y"] or box["y"] + box["height"] > bottom
    ]  # fmt: skip
