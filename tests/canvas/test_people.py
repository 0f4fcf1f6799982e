"""Compiled workflows that ask a person: at a terminal, or where nobody is.

For trust in a file of settings, for a tool that is new, for a call that destroys, for what a
server wants to know.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.asking_server import BOOKING, asking_entry, form, page
from tests.support.commands import write_settings
from tests.support.fault_server import entry
from tests.support.scripts import compile_workflow, run_script
from tests.support.shredder_server import shredder_entry
from tests.support.small_workflows import calling_workflow
from tests.support.terminals import terminal
from tests.support.warm_python import warm_python
from tests.support.watchdog import ends_within
from tools.workflows import Workflow
from xai_mcp_agent.cli.init import init_folder

LOCK = "mcp_tools.lock.json"
PAPERS = ("a\ncontract:\u202e x", "will", "deed")
PROMPT = "Approve shred of shredder? (once, run, always, no): "
TRUST = "Start them? (yes or no"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder; each test has settings of its own there."""
    return init_folder(tmp_path_factory.mktemp("asked") / "lab").folder


def settle(folder: Path, **servers: Any) -> None:
    (folder / LOCK).unlink(missing_ok=True)
    write_settings(folder, servers)


def asking(folder: Path, name: str, arguments: dict[str, Any]) -> Path:
    """A compiled workflow that has the server ask this."""
    settle(folder, booking=asking_entry(elicitationTimeout=20))
    return compile_workflow(calling_workflow(name, "booking", "ask", **arguments).write(folder))


def using(name: str, server: str, tool: str, *arguments: Any) -> Workflow:
    """A workflow whose agent calls this tool, once with each of the arguments."""
    flow = Workflow(name)
    nodes = [flow.node("AgentUseMCPTools", server_name=server)]
    nodes.append(flow.node("AgentInit", agent_name="clerk"))  # with the only toolbelt
    for value in arguments:
        call = flow.node("AgentRunTool", agent_name="clerk", tool_name=tool, tool_args=value)
        nodes += [call, flow.node("Print", msg=call["tool_output"])]
    flow.main(*nodes)
    return flow


def shredding_script(folder: Path, name: str, *papers: str) -> Path:
    settle(folder, shredder=shredder_entry())
    flow = using(name, "shredder", "shredder_shred", *({"paper": x} for x in papers))
    return compile_workflow(flow.write(folder))


# Calls that destroy


def test_a_terminal_shows_all_of_a_call_and_takes_a_word(folder: Path) -> None:
    script = shredding_script(folder, "asked", *PAPERS)
    with terminal(warm_python(), script.name, folder=folder) as screen:
        screen.expect("?? clerk wants to call shred of shredder")
        text = screen.expect(PROMPT)
        assert "| a\n" in text
        assert "| contract:\\u202e x" in text
        assert "Shred a paper. \\x1b[2JIt is gone." in text
        assert "it may destroy something" in text
        screen.type("yes")
        screen.expect("Type one of these words")
        screen.type("once")
        screen.expect("shredded a")
        screen.expect(PROMPT)
        screen.type("always")
        assert screen.end() == 0
    assert "shredded will" in screen.text
    assert "shredded deed" in screen.text
    lock = json.loads((folder / LOCK).read_text(encoding="utf-8"))
    assert list(lock["sources"]["mcp:shredder"]["approved"]) == ["shred"]


def test_keys_typed_before_the_question_are_not_an_answer_and_no_refuses_the_call(
    folder: Path,
) -> None:
    script = shredding_script(folder, "refused", "contract")
    with terminal(warm_python(), script.name, folder=folder) as screen:
        screen.type("always")
        screen.expect(PROMPT)
        screen.type("no")
        screen.expect("not approved: the person said no")
        assert screen.end() == 0
    assert "shredded contract" not in screen.text
    assert "a person was asked first, and it was not approved" in " ".join(screen.text.split())


def test_a_run_without_a_person_does_not_hang_and_reports_the_refused_call(folder: Path) -> None:
    result = run_script(shredding_script(folder, "alone", "contract"))
    assert result.returncode == 0, result.stderr
    text = " ".join((result.stdout + result.stderr).split())
    assert "shredded contract" not in text
    assert "nobody could be asked. Do not repeat the call." in text
    assert '"approval": {"shred": "allow"} under mcpServers.shredder' in text


# Tools that are new


def test_a_new_tool_and_a_changed_tool_are_shown_to_be_accepted(folder: Path) -> None:
    def sell(description: str) -> None:
        tool = {"name": "pay", "description": description, "inputSchema": {"type": "object"}}
        write_settings(folder, {"shop": {**entry(tools=[tool]), "lock": True}})

    settle(folder)
    sell("Pays.")
    script = compile_workflow(using("paying", "shop", "shop_pay", {}).write(folder))
    output = run_script(script).stdout
    assert "Held back until you accept it: shop" in output
    assert "May shop be used" not in output
    with terminal(warm_python(), script.name, folder=folder) as screen:
        screen.expect("May shop be used with this from now on?")
        screen.expect('"description": "Pays."')
        screen.expect("asking): ")
        screen.type("yes")
        assert screen.end() == 0
    assert "held back" not in screen.text.casefold()
    accepted = (folder / LOCK).read_text(encoding="utf-8")
    assert '"pay"' in accepted
    sell("Pays all of it.")
    with terminal(warm_python(), script.name, folder=folder) as screen:
        screen.expect("pay changed since it was accepted")
        screen.expect("asking): ")
        screen.type("no")
        screen.expect("shop: nothing was accepted")
        screen.expect("Held back until you accept it: shop")
        assert screen.end() == 0
    assert (folder / LOCK).read_text(encoding="utf-8") == accepted


# Questions of servers


def test_an_interrupt_at_a_prompt_stops_the_run(folder: Path) -> None:
    script = asking(folder, "stopped", page("https://example.org"))
    with terminal(sys.executable, script.name, folder=folder) as screen:
        screen.expect("asking): ")
        screen.type("\x03", enter=False)
        with ends_within(30):
            assert screen.end() != 0
        assert "KeyboardInterrupt" in screen.text


def test_a_workflow_that_nobody_attends_is_answered_no_at_once_and_why(folder: Path) -> None:
    """Services that run checks give a terminal, too, and set `CI`: a wait there is in vain."""
    script = asking(folder, "unattended", form("Who?", BOOKING))
    with terminal(warm_python(), script.name, folder=folder, CI="true") as screen:
        assert screen.end() == 0
    assert "(the environment variable CI is set)" in " ".join(screen.text.split())
    result = run_script(script)
    assert result.returncode == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert '{"action": "decline"}' in text
    assert "note: A question of the server was declined: nobody can be asked" in text
    assert '"elicitation": "defaults"' in text


# Settings that nobody agreed to yet


def test_settings_are_agreed_to_once_before_anything_starts(folder: Path, tmp_path: Path) -> None:
    hides = {"command": "sh", "args": ["./evil.sh"], "env": {"API_TOKEN": "./evil.sh"}}
    settle(folder, theirs=asking_entry(), hides=hides)
    flow = Workflow("lists")
    node = flow.node("MCPListTools", server_name="theirs")
    flow.main(node, flow.node("Print", msg=node["summary"]))
    script = compile_workflow(flow.write(folder))
    person = {"XAI_MCP_TRUST": "", "XDG_CONFIG_HOME": str(tmp_path)}
    with terminal(warm_python(), script.name, folder=folder, **person) as screen:
        screen.expect("mcpServers.hides:")
        screen.expect("starts sh ./evil.sh")  # though the file calls it a secret
        screen.expect(TRUST)
        screen.type("no")
        assert screen.end() != 0
        assert "have not agreed" in " ".join(screen.text.split())
    with terminal(warm_python(), script.name, folder=folder, **person) as screen:
        screen.expect("mcpServers.theirs:\n")
        screen.expect(TRUST)
        screen.type("yes")
        screen.expect("ask(")
        assert screen.end() == 0
    with terminal(warm_python(), script.name, folder=folder, **person) as screen:
        screen.expect("ask(")
        assert screen.end() == 0
        assert TRUST not in screen.text
