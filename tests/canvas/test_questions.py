"""A compiled workflow whose server asks something: of a person at a terminal, or of nobody."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.asking_server import BOOKING, asking_entry, form, page
from tests.support.scripts import compile_workflow, run_script
from tests.support.terminals import terminal
from tests.support.warm_python import warm_python
from tests.support.watchdog import ends_within
from tools.workflows import Workflow
from xai_mcp_agent.cli.init import init_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder whose only server asks."""
    made = init_folder(tmp_path_factory.mktemp("asked") / "lab").folder
    settings = {"mcpServers": {"booking": asking_entry(elicitationTimeout=20)}}
    (made / "mcp_settings.json").write_text(json.dumps(settings), encoding="utf-8")
    return made


def asking_script(folder: Path, name: str, arguments: dict[str, Any]) -> Path:
    """A compiled workflow that has the server ask this."""
    flow = Workflow(name)
    node = flow.node("MCPCallTool", server_name="booking", tool_name="ask", arguments=arguments)
    flow.main(node, flow.node("Print", msg=node["text"]))
    return compile_workflow(flow.write(folder))


def test_a_compiled_workflow_asks_in_its_terminal(folder: Path) -> None:
    script = asking_script(folder, "typed", form("Who \x1b[31mcomes?", BOOKING))
    with terminal(warm_python(), script.name, folder=folder) as screen:
        screen.expect("?? booking asks: Who comes?")
        for typed in ("Ada", "7", "1"):
            screen.expect("): ")
            screen.type(typed)
        screen.expect("again): ")
        screen.type("yes")
        screen.expect('"content": {"name": "Ada", "guests": 7, "seat": "in"}')
        assert screen.end() == 0


def test_a_terminal_that_nobody_attends_is_asked_nothing(folder: Path) -> None:
    """Services that run checks give a terminal, too, and set `CI`: a wait there is in vain."""
    script = asking_script(folder, "unattended", form("Who?", BOOKING))
    with terminal(warm_python(), script.name, folder=folder, CI="true") as screen:
        assert screen.end() == 0
    assert "(the environment variable CI is set)" in " ".join(screen.text.split())


def test_an_interrupt_at_a_prompt_stops_the_run(folder: Path) -> None:
    script = asking_script(folder, "stopped", page("https://example.org"))
    with terminal(sys.executable, script.name, folder=folder) as screen:
        screen.expect("asking): ")
        screen.type("\x03", enter=False)
        with ends_within(30):
            assert screen.end() != 0
        assert "KeyboardInterrupt" in screen.text


def test_a_workflow_without_a_terminal_is_reported_no_at_once_and_why(folder: Path) -> None:
    done = run_script(asking_script(folder, "alone", form("Who?", BOOKING)))
    assert done.status == 0, done.errors
    shown = " ".join(done.output.split())
    assert '{"action": "decline"}' in shown
    assert "note: A question of the server was declined: nobody can be asked" in shown
    assert '"elicitation": "defaults"' in shown
