"""A newcomer's first workflow, drawn with the mouse on an empty canvas as the README says."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.lab_canvas import Canvas
from tests.support.lab_drawing import measure
from tests.support.lab_mouse import Mouse
from tests.support.lab_palette import Palette
from tests.support.processes import wait_until
from tools.canvas_file import load, problems

pytestmark = pytest.mark.browser

NAME = "my_agent"
FLOW = ["Start", "AgentUseMCPTools", "AgentMakeToolbelt", "AgentInit", "AgentRun", "Finish"]
QUESTION = "Which books do you have about the sea?"


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
    canvas.new_workflow()
    canvas.rename(f"{NAME}.xircuits")
    mouse = Mouse(canvas, Palette(canvas))
    place_nodes(mouse)
    for source, target in pairwise(FLOW):
        mouse.join(source, target)
    # Xircuits joins ports of the same name by itself.
    assert "AgentMakeToolbelt.parameter-out-dict-toolbelt_spec" in " ".join(mouse.links())
    write_texts(mouse)
    assert measure(canvas).faults() == []
    canvas.picture(artefacts / "drawn-with-the-mouse.png")
    canvas.save()
    assert problems(load(folder / f"{NAME}.xircuits"), NAME) == []
    text = canvas.run()
    assert "Moby-Dick" in text.split("\u2713 library_search_books")[1]
    assert text.strip().endswith("Finished Executing")
    # Only what Xircuits said about the text without its mark.
    assert [x for x in canvas.errors() if not x.startswith("Type is undefined")] == []


def place_nodes(mouse: Mouse) -> None:
    """Put all nodes side by side, with room between them."""
    # Both are selected in an empty workflow, and would be moved together.
    mouse.click(400, 300)
    mouse.move("Start", 20, 60)
    mouse.move("Finish", 1060, 60)
    for name, x in zip(FLOW[1:-1], (115, 315, 545, 745), strict=True):
        mouse.drop(name, x, 60)


def write_texts(mouse: Mouse) -> None:
    """Give the ports that have a star their texts."""
    mouse.write("AgentUseMCPTools", "parameter-string-server_name", "library", -60, 110)
    mouse.write("AgentInit", "parameter-string-agent_name", "helper", -110, 130)
    mouse.write("AgentRun", "parameter-string-agent_name", "helper", -20, 275)
    box = mouse.pull("AgentRun", "parameter-any-conversation", 0, 295)
    mouse.submit(QUESTION)
    # Without the quotation mark the box comes back empty.
    box.wait_for()
    assert box.input_value() == ""
    mouse.submit(f'"{QUESTION}')
    wait_until(lambda: "conversation" in " ".join(mouse.links()), "the question is there")
