"""Runs in the lab's output panel: of a template, and with questions."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.asking_server import asking_entry
from tests.support.lab_canvas import Canvas
from tests.support.lab_panel import Panel
from tests.support.scripts import compile_workflow
from tools.workflows import Workflow

pytestmark = pytest.mark.browser

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


def test_a_card_of_the_launcher_makes_an_agent_that_answers(canvas: Canvas, folder: Path) -> None:
    canvas.show_top_folder()
    canvas.open_template("agent_with_tools")
    text = canvas.run()
    assert "Moby-Dick" in text
    assert (folder / "agent_with_tools.py").is_file(), "beside its copy, in the folder shown"
    assert canvas.errors() == []


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
    output = canvas.wait_for_output("Finished Executing")
    assert "ask(" in output
    assert os.listdir(tmp_path / "xai-mcp-agent")
