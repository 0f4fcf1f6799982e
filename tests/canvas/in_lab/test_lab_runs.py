"""Runs in the lab's output panel: of a template, interrupted, mistaken, and with questions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.canvas.test_people import shredding
from tests.support.asking_server import asking_entry
from tests.support.lab import interrupt_kernels
from tests.support.lab_canvas import Canvas
from tests.support.lab_panel import Panel
from tests.support.processes import wait_until
from tests.support.scripts import compile_workflow
from tests.support.small_workflows import calling_workflow
from tools.workflows import Workflow

pytestmark = pytest.mark.browser

EXAMPLE = "examples/ex01_quickstart"
PANEL_COLUMNS = 90  # fewer than it has in a small window; longer lines are broken in mid-word
# The lab of these tests trusts all; the kernel of this run does not, until its end.
_DISTRUST = """
import os
_kept = {{x: os.environ.get(x) for x in ("XAI_MCP_TRUST", "XDG_CONFIG_HOME", "XAI_MCP_SETTINGS")}}
os.environ.update({settings!r})
os.environ.pop("XAI_MCP_TRUST")
"""
_AS_BEFORE = """
for _name, _value in _kept.items():
    os.environ.pop(_name, None) if _value is None else os.environ.update({_name: _value})
"""


@pytest.fixture
def renamed(folder: Path) -> Iterator[Path]:
    """The settings, in which the server `library` has another name for a while."""
    settings = folder / "mcp_settings.json"
    before = settings.read_text(encoding="utf-8")
    settings.write_text(before.replace('"library"', '"librarian"'), encoding="utf-8")
    yield settings
    settings.write_text(before, encoding="utf-8")


def test_a_card_of_the_launcher_makes_an_agent_that_answers(canvas: Canvas, folder: Path) -> None:
    canvas.show_top_folder()
    canvas.open_template("agent_with_tools")
    text = canvas.run()
    assert "Moby-Dick" in text
    assert (folder / "agent_with_tools.py").is_file(), "beside its copy, in the folder shown"
    assert canvas.errors() == []


def test_a_server_that_was_renamed_is_explained_in_the_panel(
    canvas: Canvas, renamed: Path, folder: Path
) -> None:
    """The workflow still has the old name: what is wrong, which names there are, what to do."""
    compile_workflow(folder / f"{EXAMPLE}.xircuits")
    text = canvas.run_script(f"{EXAMPLE}.py")
    _, _, told = text.partition("The workflow stopped at AgentUseMCPTools (UnknownServer):")
    lines = told.strip().splitlines()
    assert all(len(x) < PANEL_COLUMNS for x in lines if str(renamed) not in x)
    assert len(lines) < 6, "buried"
    words = " ".join(told.split())
    assert f"No MCP server 'library' in {renamed}." in words
    assert "Known: librarian, " in words
    assert words.endswith("Correct the name, or add it under `mcpServers`.")
    assert "Traceback" not in text


def test_an_interrupted_workflow_ends_and_the_next_run_works(
    canvas: Canvas, folder: Path, address: str
) -> None:
    """From without: by the REST interface, as any program that watches a lab does it."""
    adding = calling_workflow("adding", "workshop", "add", a=20, b=22)
    for flow in (adding, calling_workflow("waiting", "workshop", "wait", seconds=600.0)):
        compile_workflow(flow.write(folder))
    began = folder / "workshop.pid.waiting"
    began.unlink(missing_ok=True)  # of a run in the panel, whose kernel keeps its server
    canvas.start_script("waiting.py")
    wait_until(began.exists, "the workflow waits for its tool")
    interrupt_kernels(address)
    assert "Stopped by you." in canvas.wait_for_output("Finished Executing")
    assert "42" in canvas.run_script("adding.py").split("Executing: Print")[1]


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


def test_a_strangers_servers_wait_for_a_yes_in_the_lab(
    canvas: Canvas, panel: Panel, folder: Path, tmp_path: Path
) -> None:
    theirs = folder / "theirs.json"
    theirs.write_text(json.dumps({"mcpServers": {"theirs": asking_entry()}}), encoding="utf-8")
    flow = Workflow("distrusted")
    node = flow.node("MCPListTools", server_name="theirs")
    flow.main(node, flow.node("Print", msg=node["summary"]))
    script = compile_workflow(flow.write(folder))
    settings = {"XAI_MCP_SETTINGS": str(theirs), "XDG_CONFIG_HOME": str(tmp_path)}
    code = script.read_text("utf-8")
    script.write_text(_DISTRUST.format(settings=settings) + code + _AS_BEFORE, "utf-8")
    canvas.start_script(script.name)
    question = panel.questions.first
    expect(question).to_contain_text("Start these programs? They are new in theirs.json.")
    expect(question).to_contain_text("mcpServers.theirs:")
    panel.press("Start them")
    shown = canvas.wait_for_output("Finished Executing")
    assert "ask(" in shown
    assert os.listdir(tmp_path / "xai-mcp-agent")
