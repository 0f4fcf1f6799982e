"""Every node in the lab's palette, and what it tells to the one who looks for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.lab_canvas import Canvas
from tests.support.lab_palette import Palette, as_read, tip_of
from xai_mcp_agent.drawing.components import our_components

pytestmark = pytest.mark.browser

EXAMPLE = "examples/ex01_quickstart.xircuits"


def headings_in(description: str) -> list[str]:
    """The headings that a description has."""
    return re.findall(r"^##### (.*)$", description, flags=re.MULTILINE)


def test_every_node_explains_itself_completely_when_the_mouse_rests_on_it(
    small: Canvas, artefacts: Path
) -> None:
    """The whole text, with headings as headings, without marks, and all of it in a small window."""
    canvas = small
    palette = Palette(canvas)
    palette.hurry()
    height = canvas.page.evaluate("innerHeight")
    for name, cls in our_components().items():
        tip = palette.explain(name)
        assert tip.text == as_read(cls.description), name
        assert tip.headings == headings_in(cls.description), name
        assert tip.place["y"] >= 0, name
        assert tip.place["y"] + tip.place["height"] <= height, name
    canvas.picture(artefacts / "palette.png")
    assert canvas.errors() == []


def test_the_i_of_a_node_on_the_canvas_opens_the_same_text(canvas: Canvas) -> None:
    """It opens above the node: there must be room, so the node is brought down first."""
    canvas.open_workflow(EXAMPLE)
    node = next(x for x in canvas.drawn() if x.name == "AgentRun")
    canvas.look_at(1.0, node.x, node.y, 450.0)
    tip = tip_of(canvas.explain("AgentRun").locator(".markdown-body"))
    description = our_components()["AgentRun"].description
    assert tip.text == as_read(description)
    assert tip.headings == headings_in(description)
    assert canvas.errors() == []
