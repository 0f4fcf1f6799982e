"""Compiled workflows with a locked server: the person in front of the run is asked what is new."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.fault_server import entry
from tests.support.scripts import compile_workflow, run_script
from tests.support.terminals import terminal
from tests.support.warm_python import warm_python
from tools.workflows import Workflow
from xai_mcp_agent.cli.init import init_folder

LOCK = "mcp_tools.lock.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder whose only server is locked."""
    return init_folder(tmp_path / "lab").folder


def write(folder: Path, description: str) -> None:
    """Have the server say this of its tool."""
    tool = {"name": "pay", "description": description, "inputSchema": {"type": "object"}}
    settings = {"mcpServers": {"shop": {**entry(tools=[tool]), "lock": True}}}
    (folder / "mcp_settings.json").write_text(json.dumps(settings), encoding="utf-8")


def paying(folder: Path) -> Path:
    """A compiled workflow whose agent calls the tool."""
    flow = Workflow("paying")
    use = flow.node("AgentUseMCPTools", server_name="shop")
    belt = flow.node("AgentMakeToolbelt")
    init = flow.node("AgentInit", agent_name="clerk", toolbelt_spec=belt["toolbelt_spec"])
    call = flow.node("AgentRunTool", agent_name="clerk", tool_name="shop_pay", tool_args={})
    flow.main(use, belt, init, call, flow.node("Print", msg=call["tool_output"]))
    return compile_workflow(flow.write(folder))


def test_what_is_new_is_shown_and_accepted_then_what_changed(folder: Path) -> None:
    write(folder, "Pays.")
    script = paying(folder)
    with terminal(warm_python(), script.name, folder=folder) as screen:
        screen.expect("May shop be used with this from now on?")
        screen.expect('"description": "Pays."')
        screen.expect("asking): ")
        screen.type("yes")
        assert screen.end() == 0
    assert "held back" not in screen.text.casefold()
    accepted = (folder / LOCK).read_text(encoding="utf-8")
    assert '"pay"' in accepted
    assert "held back" not in run_script(script).output.casefold()
    write(folder, "Pays all of it.")
    with terminal(warm_python(), script.name, folder=folder) as screen:
        screen.expect("pay changed since it was accepted")
        screen.expect("asking): ")
        screen.type("no")
        screen.expect("shop: nothing was accepted")
        screen.expect("Held back until you accept it: shop")
        assert screen.end() == 0
    assert (folder / LOCK).read_text(encoding="utf-8") == accepted


def test_with_nobody_there_it_is_held_back_as_ever(folder: Path) -> None:
    write(folder, "Pays.")
    done = run_script(paying(folder))
    assert "Held back until you accept it: shop" in done.output
    assert "May shop be used" not in done.output
