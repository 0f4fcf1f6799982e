"""A call that waits for approval during a run of Xircuits: asked in the panel."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.canvas.test_people import shredding
from tests.canvas.test_waiting import tidying
from tests.support.lab_canvas import Canvas
from tests.support.lab_panel import Panel
from tests.support.model_endpoint import calls, model_endpoint, says
from tests.support.scripts import compile_workflow, run_script

pytestmark = pytest.mark.browser


def test_a_run_that_waited_in_a_file_goes_on_in_the_lab(
    canvas: Canvas, panel: Panel, folder: Path
) -> None:
    asked = calls(("shredder_file_away", {"paper": "deed"}), ("shredder_shred", {"paper": "will"}))
    file = folder / "tidying.run.json"
    with model_endpoint([asked, says("All is tidy.")]) as endpoint:
        script = compile_workflow(tidying(endpoint).write(folder))
        done = run_script(script, OPENAI_API_KEY="sk-dummy")
        assert done.status == 0, done.errors
        assert file.exists()
        canvas.start_script("tidying.py")
        expect(panel.questions.first).to_contain_text("will")
        panel.press("Allow once")
        shown = canvas.wait_for_output("Finished Executing")
    assert "All is tidy." in shown
    assert "filed deed" not in shown
    assert not file.exists()


def test_a_call_of_a_node_is_approved_in_the_panel(
    canvas: Canvas, panel: Panel, folder: Path
) -> None:
    papers = ("<b>will</b>\nand testament", "contract", "deed")
    compile_workflow(shredding("shredding", papers).write(folder))
    canvas.start_script("shredding.py")
    question = panel.questions.first
    expect(question).to_contain_text("clerk wants to call shred of shredder")
    assert "<b>will</b>\n| and testament" in question.locator("pre").inner_text()
    expect(question).to_contain_text("it may destroy something")
    question.get_by_role("button", name="Do not call").click()
    expect(question).to_contain_text("contract")
    panel.press("For this answer")
    canvas.wait_for_output("Finished Executing")
    shown = canvas.unfold()
    assert "shred: not approved: the person said no" in shown
    assert "shredded contract" in shown
    assert "shredded deed" in shown
    assert "shredded <b>will" not in shown
