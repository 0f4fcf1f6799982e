"""A newcomer's first workflow, drawn with the mouse on an empty canvas as the README says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.first_workflow import ANSWER, draw
from tests.support.lab_canvas import Canvas
from tests.support.lab_drawing import measure
from tools.canvas_file import load, problems

pytestmark = pytest.mark.browser

NAME = "my_agent"


@pytest.fixture
def tall(canvas: Canvas) -> Iterator[Canvas]:
    """A window with room below the nodes, also while the output panel is open."""
    size = canvas.page.viewport_size
    assert size
    canvas.page.set_viewport_size({"width": size["width"], "height": 1400})
    yield canvas
    canvas.page.set_viewport_size(size)


def test_a_newcomer_draws_an_agent_and_it_answers(
    tall: Canvas, folder: Path, artefacts: Path
) -> None:
    """Each step as the README has it: menus, the palette, arrows, boxes for texts, Save, Run."""
    canvas = tall
    draw(canvas, NAME)
    assert measure(canvas).faults() == []
    canvas.picture(artefacts / "drawn-with-the-mouse.png")
    assert problems(load(folder / f"{NAME}.xircuits"), NAME) == []
    text = canvas.run()
    assert ANSWER in text.split("\u2713 library_search_books")[1]
    assert text.strip().endswith("Finished Executing")
    assert canvas.errors() == []
