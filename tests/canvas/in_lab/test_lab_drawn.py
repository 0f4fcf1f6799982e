"""Workflows that were drawn from recorded runs, in the lab: opened, edited, compiled and run.

Who decided it: issue 16, how drawing is proved.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.canvas_file import load, nodes_of, problems
from tests.support.lab_canvas import FRONT, Canvas
from tests.support.lab_drawing import measure
from tests.support.processes import wait_until
from tests.support.scripts import compile_workflow, run_script
from xai_mcp_agent.cli.main import run

pytestmark = pytest.mark.browser

# What is changed in the text of which step, and what then is to be seen.
EDITS = {
    "ex01_quickstart": ('query = "sea"', 'query = "travel"', "Around the World in Eighty Days"),
    "ex03_mcp_without_a_model": ('query = "sea"', 'query = "whales"', "Moby-Dick"),
    "ex04_two_servers_and_a_drawn_tool": ("value = 80", "value = 160", "22.857"),
}


@pytest.fixture(scope="module", params=EDITS)
def drawn(request: pytest.FixtureRequest, folder: Path) -> str:
    """The name of a workflow that was drawn from an example's run."""
    name: str = request.param
    example = folder / "examples" / f"{name}.xircuits"
    transcript = folder / f"{name}_runs.jsonl"
    script = compile_workflow(example, folder / f"{name}_recorded.py")
    assert run_script(script, XAI_MCP_TRANSCRIPT=str(transcript)).status == 0
    words = ["plan", "draw", str(transcript), "--tools-from", str(example), "--out"]
    with pytest.raises(SystemExit) as ended:
        run([*words, str(folder / f"{name}_drawn")])
    assert not ended.value.code
    return name


def test_a_drawn_run_is_opened_edited_and_run(
    canvas: Canvas, drawn: str, folder: Path, artefacts: Path
) -> None:
    path = folder / f"{drawn}_drawn.xircuits"
    canvas.open_workflow(path.name)
    drawing = measure(canvas)
    assert len(drawing.boxes) == sum(not x["extras"].get("attached") for x in nodes_of(load(path)))
    assert drawing.faults() == []
    canvas.picture(artefacts / f"drawn-{drawn}.png")
    old, new, wanted = EDITS[drawn]
    edit(canvas, old, new)
    canvas.save()
    # Xircuits counts no edit of a literal as a change: only the file shows that it is saved.
    wait_until(lambda: is_written(path, new), "the edit is in the file")
    assert problems(load(path), path.stem) == []
    canvas.compile()
    text = canvas.run_script(f"{drawn}_drawn.py")
    assert text.strip().endswith("Finished Executing"), text
    assert "Executing: MCPToolStep" in text
    assert wanted in text, text
    assert canvas.errors() == []


def is_written(path: Path, text: str) -> bool:
    """Whether a node of the workflow has this text."""
    return any(text in x["ports"][0]["label"] for x in nodes_of(load(path)) if x["ports"])


def edit(canvas: Canvas, old: str, new: str) -> None:
    """Double-click the text of a step, and change it."""
    literal = canvas.page.locator(f"{FRONT} div.node", has_text=old).first
    box = canvas.page.locator(".jp-Dialog textarea")
    literal.dblclick()
    box.wait_for()
    wait_until(lambda: old in box.input_value(), "the text is in the box")
    box.fill(box.input_value().replace(old, new))
    canvas.page.click(".jp-Dialog .jp-mod-accept")
    box.wait_for(state="detached")
    canvas.page.locator(f"{FRONT} div.node", has_text=new).first.wait_for()
