"""Compiled workflows whose agents call a tool that destroys: asked at a terminal, or of nobody."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support.scripts import compile_workflow, run_script
from tests.support.shredder_server import shredder_entry
from tests.support.terminals import terminal
from tests.support.warm_python import warm_python
from tests.support.watchdog import ends_within
from tools.workflows import Workflow
from xai_mcp_agent.canvas.agents import tools_in
from xai_mcp_agent.canvas.toolbelts import make_toolbelt
from xai_mcp_agent.cli.init import init_folder
from xai_mcp_agent.core.errors import BadSetting

PAPERS = ("a\ncontract:\u202e x", "will", "deed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder whose only server destroys."""
    made = init_folder(tmp_path / "lab").folder
    settings = {"mcpServers": {"shredder": shredder_entry()}}
    (made / "mcp_settings.json").write_text(json.dumps(settings), encoding="utf-8")
    return made


def shredding_script(folder: Path, name: str, papers: tuple[str, ...] = PAPERS) -> Path:
    """A compiled workflow in whose run an agent shreds these, one after the other."""
    return compile_workflow(shredding(name, papers).write(folder))


def shredding(name: str, papers: tuple[str, ...]) -> Workflow:
    flow = Workflow(name)
    use = flow.node("AgentUseMCPTools", server_name="shredder")
    belt = flow.node("AgentMakeToolbelt")
    init = flow.node("AgentInit", agent_name="clerk", toolbelt_spec=belt["toolbelt_spec"])
    nodes = [use, belt, init]
    for paper in papers:
        call = flow.node(
            "AgentRunTool",
            agent_name="clerk",
            tool_name="shredder_shred",
            tool_args={"paper": paper},
        )
        nodes += [call, flow.node("Print", msg=call["tool_output"])]
    flow.main(*nodes)
    return flow


def test_a_terminal_shows_all_of_a_call_and_takes_a_word(folder: Path) -> None:
    script = shredding_script(folder, "asked")
    with terminal(warm_python(), script.name, folder=folder) as screen:
        screen.expect("?? clerk wants to call shred of shredder")
        shown = screen.expect("Approve shred of shredder? (once, run, always, no): ")
        assert "| a\n" in shown
        assert "| contract:\\u202e x" in shown
        assert "Shred a paper. \\x1b[2JIt is gone." in shown
        assert "it may destroy something" in shown
        screen.type("yes")
        screen.expect("Type one of these words")
        screen.type("once")
        screen.expect("shredded a")
        screen.expect("Approve shred of shredder? (once, run, always, no): ")
        screen.type("always")
        assert screen.end() == 0
    assert "shredded will" in screen.text
    assert "shredded deed" in screen.text
    lock = json.loads((folder / "mcp_tools.lock.json").read_text(encoding="utf-8"))
    assert list(lock["sources"]["mcp:shredder"]["approved"]) == ["shred"]


def test_what_was_typed_before_is_no_answer_and_no_is_no(folder: Path) -> None:
    script = shredding_script(folder, "refused", ("contract",))
    with terminal(warm_python(), script.name, folder=folder) as screen:
        screen.type("always")
        screen.expect("Approve shred of shredder? (once, run, always, no): ")
        screen.type("no")
        screen.expect("not approved: the person said no")
        assert screen.end() == 0
    assert "shredded contract" not in screen.text
    assert "a person was asked first, and it was not approved" in " ".join(screen.text.split())


def test_an_interrupt_while_it_is_asked_stops_the_run(folder: Path) -> None:
    script = shredding_script(folder, "stopped")
    with terminal(sys.executable, script.name, folder=folder) as screen:
        screen.expect("Approve shred of shredder? (once, run, always, no): ")
        screen.type("\x03", enter=False)
        with ends_within(30):
            assert screen.end() != 0
    assert "KeyboardInterrupt" in screen.text
    assert "shredded" not in screen.text.replace("shredder", "")


def test_with_nobody_there_nothing_hangs_and_both_are_reported(folder: Path) -> None:
    done = run_script(shredding_script(folder, "alone", ("contract",)))
    assert done.status == 0, done.errors
    shown = " ".join((done.output + done.errors).split())
    assert "shredded contract" not in shown
    assert "nobody could be asked. Do not repeat the call." in shown
    assert '"approval": {"shred": "allow"} under mcpServers.shredder' in shown


def test_a_toolbelt_says_which_calls_are_asked_for() -> None:
    spec = make_toolbelt({}, "papers", False, False, "shred*: deny, shredder: ask")
    assert spec["approval"] == {"shred*": "deny", "shredder": "ask"}
    assert tools_in(spec, "toolbelt_spec", "AgentInit")["tool_approval"] == spec["approval"]
    assert "approval" not in make_toolbelt({}, "papers", False, False, "")
    with pytest.raises(BadSetting, match="`approval` of AgentMakeToolbelt: must be one of"):
        make_toolbelt({}, "papers", False, False, "perhaps")
