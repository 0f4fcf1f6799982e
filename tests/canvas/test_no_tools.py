"""An agent on the canvas that gets no tool of its servers: its run fails, for all to see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.canvas import call, chain, make, play
from tests.support.fault_server import entry
from tests.support.kernels import kernel
from tests.support.model_endpoint import model_endpoint, says
from tests.support.scripts import compile_workflow, run_script
from tools.workflows import Workflow
from xai_mcp_agent import NoTools
from xai_mcp_agent.agent_components import (
    AgentInit,
    AgentLearn,
    AgentMakeToolbelt,
    AgentNumpyMemory,
    AgentRun,
    AgentUseMCPTools,
    AgentUseTools,
)

from .conftest import UseServers

GONE = {"command": "no-such-program-anywhere"}
REASON = "the command 'no-such-program-anywhere' was not found"


def agent(*using: Any, **inputs: Any) -> list[Any]:
    belt = make(AgentMakeToolbelt, name=inputs.pop("belt", None))
    return [*using, belt, make(AgentInit, toolbelt_spec=belt.toolbelt_spec, **inputs)]


def use(server: str, **inputs: Any) -> AgentUseMCPTools:
    return make(AgentUseMCPTools, server_name=server, **inputs)


def drawn() -> Workflow:
    """An agent with a server that cannot be started, then a Print of its answer."""
    flow = Workflow("counting")
    server = flow.node("AgentUseMCPTools", server_name="gone")
    belt = flow.node("AgentMakeToolbelt")
    helper = flow.node("AgentInit", toolbelt_spec=belt["toolbelt_spec"])
    run = flow.node("AgentRun", question="Count the wibbles.")
    flow.main(server, belt, helper, run, flow.node("Print", msg=run["last_response"]))
    return flow


def test_a_script_ends_with_status_1_and_says_why_on_stderr(tmp_path: Path) -> None:
    """Cron and CI look at nothing else."""
    settings = {"mcpServers": {"gone": GONE}}
    (tmp_path / "mcp_settings.json").write_text(json.dumps(settings), encoding="utf-8")
    lines = tmp_path / "runs.jsonl"
    script = compile_workflow(drawn().write(tmp_path))
    done = run_script(script, XAI_MCP_TRUST="1", XAI_MCP_TRANSCRIPT=str(lines))
    assert done.status == 1
    assert "No tool of this agent can be used, so its model was not asked." in done.errors
    assert REASON in done.errors
    assert "Executing: Print" not in done.output
    *_, last = map(json.loads, lines.read_text(encoding="utf-8").splitlines())
    assert (last["event"], last["stopped"]) == ("RunFailed", "no_tools")


def test_the_card_in_the_lab_says_why_there_are_no_tools(tmp_path: Path) -> None:
    settings = {"mcpServers": {"gone": GONE}}
    (tmp_path / "mcp_settings.json").write_text(json.dumps(settings), encoding="utf-8")
    flow = Workflow("unwired")
    belt, helper = flow.node("AgentMakeToolbelt"), flow.node("AgentInit")
    flow.main(belt, helper, flow.node("AgentRun", question="Count the wibbles."))
    scripts = [compile_workflow(x.write(tmp_path)).name for x in (drawn(), flow)]
    with kernel(tmp_path, XAI_MCP_TRUST="1") as lab:
        gone, unwired = (lab.run(f"%run {x}") for x in scripts)
    page = gone.displayed[-1]["text/html"]
    assert "Stopped by an error" in page
    assert page.count("no-such-program-anywhere") == 1
    assert "failed: it had no tools" in page.rpartition("xai-end")[2]
    page = unwired.displayed[-1]["text/html"]
    assert "Draw a line from" in page
    assert "I have no tools." in page
    assert "Draw a line from" not in unwired.output


def test_the_branch_for_errors_is_taken_where_it_is_wired(use_servers: UseServers) -> None:
    use_servers(gone=GONE)
    run, seen = make(AgentRun, question="Count the wibbles."), list[str]()
    run.on_error = chain(call(seen.append, run.error))
    play({}, *agent(use("gone")), run)
    assert (run.stopped.value, run.last_response.value) == ("no_tools", "")
    assert REASON in run.error.value
    assert seen == [run.error.value]


def test_a_node_makes_one_server_enough_to_fail(use_servers: UseServers) -> None:
    use_servers(it=entry(), gone=GONE)
    with model_endpoint([says("Done.")]) as endpoint:
        model = endpoint.inputs
        run = make(AgentRun, question="Go.")
        play({}, *agent(use("it"), use("gone"), **model), run)
        assert run.last_response.value == "Done."
        for node in (
            use("gone", required=True),
            make(AgentUseTools, group_name="gone", required=True),
        ):
            with pytest.raises(NoTools, match=r"Required, but without a tool .*: gone"):
                play({}, *agent(use("it"), node, **model), make(AgentRun, question="Go."))
    assert len(endpoint.requests) == 1


def test_learning_needs_its_memory_only(use_servers: UseServers, tmp_path: Path) -> None:
    use_servers(gone=GONE)
    memory = make(AgentNumpyMemory)
    learn = make(AgentLearn, conversation="The dog is called Rex.")
    play({}, memory, *agent(use("gone"), agent_memory=memory.memory), learn)
    assert learn.stopped.value == "answered"
