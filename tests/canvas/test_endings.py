"""How a run ended, on the ports of AgentRun and AgentLearn, and the way on after an error."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from xai_components.base import Component

from tests.support.canvas import agent_nodes, call, chain, make, play, shout
from tests.support.fault_server import entry
from tests.support.model_endpoint import ModelEndpoint, Step, calls, fails, model_endpoint, says
from tests.support.scripts import compile_workflow, run_script
from tests.support.small_workflows import agent_workflow, ask_with
from tools.workflows import Workflow
from xai_mcp_agent import ModelAnswerMissing, NoTools
from xai_mcp_agent.agent.models.base import TokenUsage
from xai_mcp_agent.agent_components import (
    AgentDefineTool,
    AgentLearn,
    AgentNumpyMemory,
    AgentRun,
    AgentUseMCPTools,
    AgentUseTools,
)

from .conftest import UseServers

MISSING = {"command": "no-such-program-anywhere"}
REASON = "the command 'no-such-program-anywhere' was not found"
SHOUT = calls(("shout", {"input": "hi"}))
NOTHING = [says(""), says("")]
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@pytest.fixture(autouse=True)
def _no_servers(use_servers: UseServers) -> None:
    use_servers()


def agent(endpoint: ModelEndpoint, name: str = "a", **inputs: Any) -> list[Component]:
    """The nodes that set an agent up whose model is scripted."""
    return agent_nodes(name=name, **{**endpoint.inputs, **inputs})


def run_to_end(*steps: Step, way_on: bool = True, **inputs: Any) -> tuple[AgentRun, list[str]]:
    """AgentRun after a run, and where the flow went; without `way_on` an error is raised."""
    path: list[str] = []
    run = make(AgentRun, agent_name="a", conversation="Go.", output_schema=inputs.pop("form", None))
    if way_on:
        run.on_error = chain(call(lambda error: path.append(f"error: {error}"), run.error))
    after = call(lambda _: path.append("on"))
    with model_endpoint(steps) as endpoint:
        play({}, *agent(endpoint, **inputs), run, after, tools=[shout()])
    return run, path


def test_a_run_with_an_answer_says_how_it_ended() -> None:
    for steps, inputs, stopped, answer in (
        ([says("Hello.")], {}, "answered", "Hello."),
        ([SHOUT, says("Enough.")], {"max_thoughts": 1}, "max_thoughts", "Enough."),
    ):
        run, path = run_to_end(*steps, **inputs)
        assert (run.stopped.value, run.last_response.value) == (stopped, answer)
        assert (run.error.value, run.structured.value, path) == ("", None, ["on"])


def test_a_run_without_an_answer_takes_the_error_branch() -> None:
    """Nothing is given for an answer that is none."""
    for steps, inputs, why in (
        (NOTHING, {}, "openai scripted ended its turn without an answer"),
        ([SHOUT, SHOUT, *NOTHING], {"max_thoughts": 2}, "Raise `max_thoughts`"),
        ([fails(400, {"message": "no such thing"})], {}, "no such thing"),
    ):
        run, path = run_to_end(*steps, **inputs)
        assert why in run.error.value
        assert path == [f"error: {run.error.value}"]
        assert (run.stopped.value, run.last_response.value) == ("error", "")
        assert run.out_conversation.value[0] == {"role": "user", "content": "Go."}


def test_the_conversation_so_far_and_the_usage_are_set_after_an_error() -> None:
    run, _ = run_to_end(SHOUT, fails(400, {"message": "no"}))
    assert [x["role"] for x in run.out_conversation.value] == ["user", "assistant", "tool"]
    usage = run.usage.value
    assert usage.keys() == {x.name for x in fields(TokenUsage)} | {"turns", "calls", "seconds"}
    assert (usage["input_tokens"], usage["output_tokens"], usage["cached_tokens"]) == (20, 5, 8)
    assert (usage["turns"], usage["calls"]) == (2, 1)
    assert usage["seconds"] > 0
    with pytest.raises(ModelAnswerMissing, match="ended its turn without an answer"):
        run_to_end(*NOTHING, way_on=False)


def test_an_interrupt_does_not_take_the_error_branch() -> None:
    path: list[str] = []
    run = make(AgentRun, agent_name="a", conversation="Go.")
    run.on_error = chain(call(path.append))

    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    start = make(AgentDefineTool, tool_name="shout", description="Says a text loudly.")
    with model_endpoint([SHOUT]) as endpoint, pytest.raises(KeyboardInterrupt):
        play({}, *agent(endpoint), run, tools=[[start, call(interrupt)]])
    assert (path, run.stopped.value, run.error.value) == ([], "error", "KeyboardInterrupt")
    assert "It may have been carried out" in run.out_conversation.value[-1]["content"]


def test_an_agent_that_cannot_learn_takes_the_error_branch() -> None:
    errors: list[str] = []
    memory, learn = make(AgentNumpyMemory), make(AgentLearn, agent_name="a", conversation="Go.")
    learn.on_error = chain(call(errors.append, learn.error))
    with model_endpoint(NOTHING) as endpoint:
        play({}, memory, *agent(endpoint, agent_memory=memory.memory), learn)
    assert "without an answer" in errors[0]
    assert (learn.stopped.value, learn.usage.value["turns"]) == ("error", 1)


def test_an_answer_that_fits_the_schema_is_data_and_one_that_never_fits_is_an_error() -> None:
    run, path = run_to_end(says('{"city": "Rome"}'), form=CITY)
    assert run.structured.value == {"city": "Rome"}
    assert (run.stopped.value, path) == ("answered", ["on"])
    with model_endpoint([says("Rome"), says("Rome!")]) as endpoint:
        run.on_error = chain(call(path.append, run.error))
        play({}, *agent(endpoint), run)
    assert run.structured.value is None, "no data of an earlier run are left"
    run, path = run_to_end(says('{"city": 1}'), says('{"town": "Rome"}'), form=CITY)
    assert '"city" is a required property' in run.error.value
    assert (run.stopped.value, run.last_response.value, len(path)) == ("error", "", 1)
    assert len(run.out_conversation.value) == 4


def test_a_compiled_workflow_takes_the_error_branch(
    working_folder: Path, use_servers: UseServers
) -> None:
    with model_endpoint(NOTHING) as endpoint:
        flow = Workflow("failing_agent")
        run = ask_with(flow, endpoint.base_url)
        flow.branch(run, "on_error", flow.node("Print", msg=run["error"]))
        script = compile_workflow(flow.write(working_folder))
        result = run_script(script, XAI_MCP_SETTINGS=str(use_servers()))
    assert result.status == 0, result.errors
    (text,) = result.output.split("Executing: Print")[1:]
    assert "without an answer" in text


# Without a tool of its servers


def use(**inputs: Any) -> AgentUseMCPTools:
    return make(AgentUseMCPTools, server_name="gone", **inputs)


def test_a_script_without_tools_ends_with_status_1(tmp_path: Path, use_servers: UseServers) -> None:
    """Cron and CI look at nothing else."""
    use_servers(gone=MISSING)
    lines = tmp_path / "runs.jsonl"
    flow = agent_workflow("counting", "http://127.0.0.1:9/v1", "gone")
    script = compile_workflow(flow.write(tmp_path))
    result = run_script(script, XAI_MCP_TRANSCRIPT=str(lines), OPENAI_API_KEY="sk-dummy")
    assert result.status == 1
    assert "No tool of this agent can be used, so its model was not asked." in result.errors
    assert REASON in result.errors
    assert "Executing: Print" not in result.output
    *_, last = map(json.loads, lines.read_text(encoding="utf-8").splitlines())
    assert (last["event"], last["stopped"]) == ("RunFailed", "no_tools")


def test_a_run_without_tools_takes_the_error_branch_and_learning_needs_no_tools(
    use_servers: UseServers,
) -> None:
    use_servers(gone=MISSING)
    run, errors = make(AgentRun, question="Count the wibbles."), list[str]()
    run.on_error = chain(call(errors.append, run.error))
    play({}, *agent_nodes(use()), run)
    assert (run.stopped.value, run.last_response.value) == ("no_tools", "")
    assert REASON in run.error.value
    assert errors == [run.error.value]
    memory, learn = make(AgentNumpyMemory), make(AgentLearn, conversation="The dog is Rex.")
    play({}, memory, *agent_nodes(use(), agent_memory=memory.memory), learn)
    assert learn.stopped.value == "answered"


def test_a_node_makes_one_server_enough_to_fail(use_servers: UseServers) -> None:
    use_servers(it=entry(), gone=MISSING)
    it, group = make(AgentUseMCPTools, server_name="it"), make(AgentUseTools, group_name="gone")
    group.required.value = True
    with model_endpoint([says("Done.")]) as endpoint:
        run = make(AgentRun, question="Go.")
        play({}, *agent_nodes(it, use(), **endpoint.inputs), run)
        assert run.last_response.value == "Done."
        for node in (use(required=True), group):
            with pytest.raises(NoTools, match=r"Required, but without a tool .*: gone"):
                play({}, *agent_nodes(it, node, **endpoint.inputs), run)
    assert len(endpoint.requests) == 1
