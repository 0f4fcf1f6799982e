"""How a run ended, on the ports of AgentRun and AgentLearn, and the way on after an error."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from tests.support.canvas import agent_nodes, ask_scripted, call, chain, make, play, shout
from tests.support.fault_server import entry
from tests.support.model_endpoint import Step, calls, fails, model_endpoint, says
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


def run_to_end(*steps: Step, **inputs: Any) -> tuple[AgentRun, list[str]]:
    """AgentRun after a run, and where the flow went."""
    path: list[str] = []
    run = make(AgentRun, agent_name="a", conversation="Go.", output_schema=inputs.pop("form", None))
    run.on_error = chain(call(lambda error: path.append(f"error: {error}"), run.error))
    after = call(lambda _: path.append("on"))
    with model_endpoint(steps) as endpoint:
        play({}, *agent_nodes(**endpoint.inputs, **inputs), run, after, tools=[shout()])
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
        ask_scripted(NOTHING)


def test_an_interrupt_does_not_take_the_error_branch() -> None:
    path: list[str] = []
    run = make(AgentRun, agent_name="a", conversation="Go.")
    run.on_error = chain(call(path.append))

    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    start = make(AgentDefineTool, tool_name="shout", description="Says a text loudly.")
    with pytest.raises(KeyboardInterrupt):
        ask_scripted([SHOUT], run=run, tools=[[start, call(interrupt)]])
    assert (path, run.stopped.value, run.error.value) == ([], "error", "KeyboardInterrupt")
    assert "It may have been carried out" in run.out_conversation.value[-1]["content"]


def test_an_agent_that_cannot_learn_takes_the_error_branch() -> None:
    errors: list[str] = []
    memory, learn = make(AgentNumpyMemory), make(AgentLearn, agent_name="a", conversation="Go.")
    learn.on_error = chain(call(errors.append, learn.error))
    with model_endpoint(NOTHING) as endpoint:
        play({}, memory, *agent_nodes(**endpoint.inputs, agent_memory=memory.memory), learn)
    assert "without an answer" in errors[0]
    assert (learn.stopped.value, learn.usage.value["turns"]) == ("error", 1)


def test_an_answer_that_fits_the_schema_is_data_and_one_that_never_fits_is_an_error() -> None:
    run, path = run_to_end(says('{"city": "Rome"}'), form=CITY)
    assert (run.structured.value, run.stopped.value, path) == ({"city": "Rome"}, "answered", ["on"])
    run.on_error = chain(call(path.append, run.error))
    ask_scripted([says('{"city": 1}'), says('{"town": "Rome"}')], run=run)
    assert run.structured.value is None, "no data of an earlier run are left"
    assert '"city" is a required property' in run.error.value
    assert (run.stopped.value, run.last_response.value, len(path)) == ("error", "", 2)
    assert len(run.out_conversation.value) == 4


# Without a tool of its servers


def test_a_run_without_tools_takes_the_error_branch_and_learning_needs_no_tools(
    use_servers: UseServers,
) -> None:
    use_servers(gone=MISSING)
    run, errors = make(AgentRun, question="Count the wibbles."), list[str]()
    run.on_error = chain(call(errors.append, run.error))
    play({}, *agent_nodes("gone"), run)
    assert (run.stopped.value, run.last_response.value) == ("no_tools", "")
    assert REASON in run.error.value
    assert errors == [run.error.value]
    memory, learn = make(AgentNumpyMemory), make(AgentLearn, conversation="The dog is Rex.")
    play({}, memory, *agent_nodes("gone", agent_memory=memory.memory), learn)
    assert learn.stopped.value == "answered"


def test_a_node_makes_one_server_enough_to_fail(use_servers: UseServers) -> None:
    use_servers(it=entry(), gone=MISSING)
    group = make(AgentUseTools, group_name="gone", required=True)
    with model_endpoint([says("Done.")]) as endpoint:
        run = make(AgentRun, question="Go.")
        play({}, *agent_nodes("it", "gone", **endpoint.inputs), run)
        assert run.last_response.value == "Done."
        for node in (make(AgentUseMCPTools, server_name="gone", required=True), group):
            with pytest.raises(NoTools, match=r"Required, but without a tool .*: gone"):
                play({}, *agent_nodes("it", node, **endpoint.inputs), run)
    assert len(endpoint.requests) == 1
