"""A server's question during a run in the lab: a line that leads to a page, answered there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.asking_server import form
from tests.support.lab_canvas import Canvas
from tests.support.scripts import compile_workflow
from tools.workflows import Workflow

pytestmark = pytest.mark.browser

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your <i>name</i>"},
        "guests": {"type": "integer", "minimum": 1, "maximum": 10, "default": 2},
        "seat": {
            "type": "string",
            "oneOf": [{"const": "in", "title": "Inside"}, {"const": "out", "title": "Terrace"}],
        },
    },
    "required": ["name"],
}


def test_a_question_is_answered_on_a_page_that_the_panel_leads_to(
    canvas: Canvas, folder: Path
) -> None:
    """Xircuits' panel shows no place to type in: a run that asks there waits for ever, unseen."""
    flow = Workflow("asked")
    arguments = form("Who <b>comes</b>?", SCHEMA)
    node = flow.node("MCPCallTool", server_name="asking", tool_name="ask", arguments=arguments)
    flow.main(node, flow.node("Print", msg=node["text"]))
    compile_workflow(flow.write(folder))
    canvas.start_script("asked.py")
    page = canvas.follow("Answer asking here")
    assert "Who <b>comes</b>?" in page.inner_text(".said")
    page.get_by_label("Your <i>name</i>").fill("Ada")
    page.get_by_label("guests").fill("99")
    page.get_by_label("seat").select_option("Terrace")
    page.get_by_role("button", name="Send").click()
    page.locator(".wrong", has_text="greater than the maximum of 10").wait_for()
    page.get_by_label("guests").fill("3")
    page.get_by_role("button", name="Send").click()
    page.locator("text=Your answer was sent").wait_for()
    page.close()
    shown = canvas.wait_for_output("Finished Executing")
    assert "asking: answered" in shown
    assert '"content": {"name": "Ada", "guests": 3, "seat": "out"}' in shown.replace("\n", " ")
