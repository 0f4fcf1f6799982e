"""The cards of the lab's launcher with which an agent begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.lab_canvas import Canvas

pytestmark = pytest.mark.browser


def test_a_card_of_the_launcher_makes_an_agent_that_answers(
    canvas: Canvas, folder: Path, artefacts: Path
) -> None:
    canvas.show_top_folder()
    canvas.picture(artefacts / "launcher.png")
    canvas.open_template("agent_with_tools")
    text = canvas.run()
    assert "Moby-Dick" in text
    assert (folder / "agent_with_tools.py").is_file(), "beside its copy, in the folder shown"
    assert canvas.errors() == []
