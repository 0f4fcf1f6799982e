"""How a run ended, on the ports of AgentRun and AgentLearn, and the way on after an error."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from xai_components.base import Component

from tests.support.canvas import agent_nodes, call, chain, make, play, shout
from tests.support.model_endpoint import ModelEndpoint, Step, calls, fails, model_endpoint, says
from tests.support.scripts import compile_workflow, run_script
from tools.workflows import Workflow
from xai_mcp_agent import ModelAnswerMissing
from xai_mcp_agent.agent.models.base import Usage
from xai_mcp_agent.agent_components import (
    AgentDefineTool,
    AgentLearn,
    AgentNumpyMemory,
    AgentRun,
)

from .conftest import UseServers

SHOUT = calls(("shout", {"input": "hi"}))
NOTHING = [says(""), says("")]
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@pytest.fixture(autouse=True)
def _no_servers(use_servers: UseServers) -> None:
    use_servers()


def agent(endpoint: ModelEndpoint, name: str = "a", **inputs: Any) -> list[Component]:
    """The nodes that set an agent up whose model is scripted."""
    return agent_nodes(name=name, **{**endpoint.inputs, **inputs})


def ended(*steps: Step, way_on: bool = True, **inputs: Any) -> tuple[AgentRun, list[str]]:
    """AgentRun after a run, and where the flow went; without `way_on` an error is raised."""
    went: list[str] = []
    run = make(AgentRun, agent_name="a", conversation="Go.", output_schema=inputs.pop("form", None))
    if way_on:
        run.on_error = chain(call(lambda error: went.append(f"error: {error}"), run.error))
    after = call(lambda _: went.append("on"))
    with model_endpoint(steps) as endpoint:
        play({}, *agent(endpoint, **inputs), run, after, tools=[shout()])
    return run, went


def test_a_run_with_an_answer_says_how_it_ended() -> None:
    for steps, inputs, stopped, answer in (
        ([says("Hello.")], {}, "answered", "Hello."),
        ([SHOUT, says("Enough.")], {"max_thoughts": 1}, "max_thoughts", "Enough."),
    ):
        run, went = ended(*steps, **inputs)
        assert (run.stopped.value, run.last_response.value) == (stopped, answer)
        assert (run.error.value, run.structured.value, went) == ("", None, ["on"])


def test_a_run_without_an_answer_goes_the_way_of_errors_and_not_on() -> None:
    """Nothing is given for an answer that is none."""
    for steps, inputs, why in (
        (NOTHING, {}, "openai scripted ended its turn without an answer"),
        ([SHOUT, SHOUT, *NOTHING], {"max_thoughts": 2}, "Raise `max_thoughts`"),
        ([fails(400, {"message": "no such thing"})], {}, "no such thing"),
    ):
        run, went = ended(*steps, **inputs)
        assert why in run.error.value
        assert went == [f"error: {run.error.value}"]
        assert (run.stopped.value, run.last_response.value) == ("error", "")
        assert run.out_conversation.value[0] == {"role": "user", "content": "Go."}


def test_the_conversation_so_far_and_what_it_used_are_there_after_an_error() -> None:
    run, _ = ended(SHOUT, fails(400, {"message": "no"}))
    assert [x["role"] for x in run.out_conversation.value] == ["user", "assistant", "tool"]
    used = run.usage.value
    assert used.keys() == {x.name for x in fields(Usage)} | {"turns", "calls", "seconds"}
    assert (used["input_tokens"], used["output_tokens"], used["cached_tokens"]) == (20, 5, 8)
    assert (used["turns"], used["calls"]) == (2, 1)
    assert used["seconds"] > 0
    with pytest.raises(ModelAnswerMissing, match="ended its turn without an answer"):
        ended(*NOTHING, way_on=False)


def test_an_interrupt_is_no_error_to_go_on_after() -> None:
    went: list[str] = []
    run = make(AgentRun, agent_name="a", conversation="Go.")
    run.on_error = chain(call(went.append))

    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    start = make(AgentDefineTool, tool_name="shout", description="Says a text loudly.")
    with model_endpoint([SHOUT]) as endpoint, pytest.raises(KeyboardInterrupt):
        play({}, *agent(endpoint), run, tools=[[start, call(interrupt)]])
    assert (went, run.stopped.value, run.error.value) == ([], "error", "KeyboardInterrupt")
    assert "It may have been carried out" in run.out_conversation.value[-1]["content"]


def test_in_the_branch_a_run_has_not_ended() -> None:
    seen: list[tuple[str, int]] = []
    run = make(AgentRun, agent_name="a", conversation="Go.")
    note = call(lambda used: seen.append((run.stopped.value, used["calls"])), run.usage)
    run.on_thought = chain(note)
    with model_endpoint([SHOUT, SHOUT, says("Done.")]) as endpoint:
        play({}, *agent(endpoint), run, tools=[shout()])
    assert seen == [("running", 1), ("running", 2)]


def test_an_agent_that_cannot_learn_goes_the_way_of_errors() -> None:
    heard: list[str] = []
    memory = make(AgentNumpyMemory)
    learn = make(AgentLearn, agent_name="a", conversation="Go.")
    learn.on_error = chain(call(heard.append, learn.error))
    with model_endpoint(NOTHING) as endpoint:
        play({}, memory, *agent(endpoint, agent_memory=memory.memory), learn)
    assert "without an answer" in heard[0]
    assert (learn.stopped.value, learn.usage.value["turns"]) == ("error", 1)


def test_an_answer_of_a_certain_form_is_data_and_one_that_never_fits_an_error() -> None:
    run, went = ended(says('{"city": "Rome"}'), form=CITY)
    assert run.structured.value == {"city": "Rome"}
    assert (run.stopped.value, went) == ("answered", ["on"])
    with model_endpoint([says("Rome"), says("Rome!")]) as endpoint:
        run.on_error = chain(call(went.append, run.error))
        play({}, *agent(endpoint), run)
    assert run.structured.value is None, "no data of an earlier run are left"
    run, went = ended(says('{"city": 1}'), says('{"town": "Rome"}'), form=CITY)
    assert '"city" is a required property' in run.error.value
    assert (run.stopped.value, run.last_response.value, len(went)) == ("error", "", 1)
    assert len(run.out_conversation.value) == 4


def test_a_compiled_workflow_goes_the_way_that_was_drawn(
    working_folder: Path, use_servers: UseServers
) -> None:
    with model_endpoint(NOTHING) as endpoint:
        flow = Workflow("failing_agent")
        made = flow.node(
            "AgentInit", agent_name="a", agent_provider="openai", agent_model="m",
            model_settings={"base_url": endpoint.base_url},
        )  # fmt: skip
        run = flow.node("AgentRun", agent_name="a", conversation="Go.")
        flow.main(made, run, flow.node("Print", msg="IT WENT ON"))
        flow.branch(run, "on_error", flow.node("Print", msg=run["error"]))
        script = compile_workflow(flow.write(working_folder))
        done = run_script(script, XAI_MCP_SETTINGS=str(use_servers()))
    assert done.status == 0, done.errors
    assert "without an answer" in done.output.split("Executing: Print")[1]
    assert "IT WENT ON" not in done.output
