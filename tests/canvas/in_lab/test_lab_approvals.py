"""A call that waits for approval during a run in the lab: a line that leads to a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.canvas.test_approvals import shredding
from tests.canvas.test_waiting import tidying
from tests.support.lab_canvas import Canvas
from tests.support.model_endpoint import calls, model_endpoint, says
from tests.support.scripts import compile_workflow, run_script

pytestmark = pytest.mark.browser


def test_a_run_that_waited_in_a_file_goes_on_in_the_lab(canvas: Canvas, folder: Path) -> None:
    asked = calls(("shredder_file_away", {"paper": "deed"}), ("shredder_shred", {"paper": "will"}))
    file = folder / "tidying.run.json"
    with model_endpoint([asked, says("All is tidy.")]) as endpoint:
        script = compile_workflow(tidying(endpoint).write(folder))
        done = run_script(script, OPENAI_API_KEY="sk-dummy")
        assert done.status == 0, done.errors
        assert file.exists()
        canvas.start_script("tidying.py")
        page = canvas.follow("Approve shred here, or not")
        assert "will" in page.inner_text("pre")
        page.get_by_role("button", name="once", exact=True).click()
        page.locator("text=Approved: this call").wait_for()
        page.close()
        shown = canvas.wait_for_output("Finished Executing")
    assert "All is tidy." in shown
    assert "filed deed" not in shown
    assert not file.exists()


def test_a_call_is_approved_on_a_page_that_the_panel_leads_to(canvas: Canvas, folder: Path) -> None:
    papers = ("<b>will</b>\nand testament", "contract", "deed")
    compile_workflow(shredding("shredding", papers).write(folder))
    canvas.start_script("shredding.py")
    page = canvas.follow("Approve shred here, or not")
    assert "clerk wants to call shred of shredder" in page.inner_text("h1")
    assert "<b>will</b>\n| and testament" in page.inner_text("pre")
    assert "it may destroy something" in page.inner_text("ul.said")
    page.get_by_role("button", name="no", exact=True).click()
    page.locator("text=It was not approved").wait_for()
    page.close()
    page = canvas.follow("Approve shred here, or not", 2)
    assert "contract" in page.inner_text("pre")
    page.get_by_role("button", name="run", exact=True).click()
    page.locator("text=Approved: this tool until the run ends").wait_for()
    page.close()
    canvas.wait_for_output("Finished Executing")
    shown = canvas.unfold()
    assert "shred: not approved: the person said no" in shown
    assert "shredded contract" in shown
    assert "shredded deed" in shown
    assert "shredded <b>will" not in shown
