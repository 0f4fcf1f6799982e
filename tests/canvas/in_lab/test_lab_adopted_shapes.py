"""Adopted workflows in a real lab, of shapes that people published."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.canvas.in_lab.test_lab_adopted import links
from tests.support.canvas_file import load, nodes_of
from tests.support.lab_canvas import Canvas
from tests.support.old_workflows.drawn import SHAPES
from xai_mcp_agent.cli.adopt.command import adopt_file

pytestmark = pytest.mark.browser

# Wires drawn twice or loose, an address that moves to an AgentModel, types that names alone say.
ODD = ("demo_of_a_talk", "readme_agent", "robot_agent", "agent_example_of_2024", "gradio_agent")


def adopted(folder: Path, name: str, text: str) -> Path:
    """The workflow in the lab's folder, adopted."""
    file = folder / f"{name}.xircuits"
    file.write_text(text, encoding="utf-8")
    written = adopt_file(file).written
    assert written is not None
    return written


@pytest.mark.parametrize("name", ODD)
def test_a_mended_drawing_opens_whole_and_keeps_its_links(
    name: str, canvas: Canvas, folder: Path
) -> None:
    file = adopted(folder, name, SHAPES[name].text())
    before = load(file)
    canvas.open_workflow(file.name)
    assert {x.id for x in canvas.drawn()} == {x["id"] for x in nodes_of(before)}
    canvas.touch()
    canvas.save()
    after = load(file)
    assert after != before, "it was not saved"
    assert links(after) == links(before)
    canvas.compile()
    assert canvas.errors() == []
