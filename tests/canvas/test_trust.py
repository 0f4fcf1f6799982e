"""Workflows in a folder whose settings file nobody agreed to yet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.asking_server import asking_entry
from tests.support.scripts import compile_workflow, run_script
from tests.support.terminals import terminal
from tests.support.warm_python import warm_python
from tools.workflows import Workflow
from xai_mcp_agent.cli.init import init_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with somebody else's settings."""
    made = init_folder(tmp_path_factory.mktemp("theirs") / "lab").folder
    hides = {"command": "sh", "args": ["./evil.sh"], "env": {"API_TOKEN": "./evil.sh"}}
    settings = {"mcpServers": {"theirs": asking_entry(), "hides": hides}}
    (made / "mcp_settings.json").write_text(json.dumps(settings), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def script(folder: Path) -> Path:
    """A compiled workflow that lists the tools of their server."""
    flow = Workflow("lists")
    node = flow.node("MCPListTools", server_name="theirs")
    flow.main(node, flow.node("Print", msg=node["summary"]))
    return compile_workflow(flow.write(folder))


def test_unattended_nothing_is_started_and_the_command_is_reported(script: Path) -> None:
    done = run_script(script, XAI_MCP_TRUST="")
    assert done.status != 0
    assert f"xai-mcp-agent trust {script.parent / 'mcp_settings.json'}" in done.errors
    assert "Set XAI_MCP_TRUST" in done.errors.replace("set XAI", "Set XAI")


def test_unattended_runs_are_let_by_the_environment(script: Path) -> None:
    done = run_script(script, XAI_MCP_TRUST=str(script.parent))
    assert done.status == 0, done.errors
    assert "ask(" in done.output


def test_the_person_at_the_terminal_is_asked_once(script: Path, tmp_path: Path) -> None:
    person = {"XAI_MCP_TRUST": "", "XDG_CONFIG_HOME": str(tmp_path)}
    command = (warm_python(), script.name)
    with terminal(*command, folder=script.parent, **person) as screen:
        screen.expect("mcpServers.theirs:\n")
        screen.expect("Start them? (yes or no")
        screen.type("yes")
        screen.expect("ask(")
        assert screen.end() == 0
    with terminal(*command, folder=script.parent, **person) as screen:
        screen.expect("ask(")
        assert screen.end() == 0
        assert "Start them?" not in screen.text


def test_a_no_starts_nothing_and_fails_at_the_node(script: Path, tmp_path: Path) -> None:
    command = (warm_python(), script.name)
    person = {"XAI_MCP_TRUST": "", "XDG_CONFIG_HOME": str(tmp_path)}
    with terminal(*command, folder=script.parent, **person) as screen:
        screen.expect("mcpServers.hides:")
        screen.expect("starts sh ./evil.sh")  # though the file calls it a secret
        screen.expect("Start them? (yes or no")
        screen.type("no")
        assert screen.end() != 0
        assert "have not agreed" in " ".join(screen.text.split())
