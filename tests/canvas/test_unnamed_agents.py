"""A question without a conversation, an agent without a name, a toolbelt without a wire."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from xai_components.base import Component

from tests.support.canvas import make, play
from tests.support.model_endpoint import ModelEndpoint, calls, model_endpoint, says
from xai_mcp_agent import BadSetting
from xai_mcp_agent.agent_components import (
    AgentDefineTool,
    AgentInit,
    AgentMakeToolbelt,
    AgentRun,
    AgentRunTool,
    AgentToolOutput,
    AgentUpdate,
)

from .conftest import UseServers

SAID = [{"role": "user", "content": "I am Ada."}, {"role": "assistant", "content": "Hello, Ada."}]
WIRE = "Draw a line from `toolbelt_spec` of its AgentMakeToolbelt to `toolbelt_spec` of AgentInit."


@pytest.fixture(autouse=True)
def _known(use_servers: UseServers) -> None:
    use_servers()


def agent_at(endpoint: ModelEndpoint, **inputs: Any) -> AgentInit:
    return make(
        AgentInit, agent_provider="openai", agent_model="m", base_url=endpoint.base_url,
        api_key="sk-dummy", **inputs,
    )  # fmt: skip


def tool(name: str, *nodes: Component, gives: Any) -> list[Component]:
    """A drawn tool that runs these nodes."""
    start = make(AgentDefineTool, tool_name=name, description="Does it.")
    return [start, *nodes, make(AgentToolOutput, results=[gives])]


# The question


def test_a_question_is_asked_after_what_was_said() -> None:
    for before, earlier in ((None, []), ("  ", []), (SAID, ["I am Ada.", "Hello, Ada."])):
        given = copy.deepcopy(before)
        with model_endpoint([says("Ada.")]) as endpoint:
            run = make(AgentRun, question="Who am I?", conversation=given)
            play({}, agent_at(endpoint), run)
        messages = endpoint.requests[0].body["messages"]
        sent = [x["content"] for x in messages if x["role"] != "system"]
        assert sent == [*earlier, "Who am I?"]
        assert given == before, "what was wired is not changed"
        assert [x["content"] for x in run.out_conversation.value] == [*sent, "Ada."]


def test_a_run_that_is_asked_nothing_says_what_to_set() -> None:
    with pytest.raises(BadSetting, match="set `question` to a text, or wire a `conversation`"):
        play({}, make(AgentInit), make(AgentRun, question="  ", conversation=""))


# The name


def test_every_node_takes_the_agent_that_was_set_up_last() -> None:
    """An update of another one does not make that the last."""
    ctx: dict[str, Any] = {}
    run = make(AgentRun, question="Hello!")
    used = make(AgentRunTool, tool_name="no_such_tool")
    with model_endpoint([says("I am the second.")]) as endpoint:
        updates = [
            make(AgentUpdate, new_system_prompt="You are the second."),
            make(AgentUpdate, agent_name="first", new_system_prompt="x"),
        ]
        agents = [make(AgentInit, agent_name="first"), agent_at(endpoint, agent_name="b")]
        play(ctx, *agents, *updates, used, run)
    assert ctx["agent_first"]["agent_system_prompt"] == "x"
    assert endpoint.requests[0].body["messages"][0]["content"].startswith("You are the second.")
    assert run.last_response.value == "I am the second."
    assert "no_such_tool" in used.tool_output.value


def test_an_agent_that_a_drawn_tool_sets_up_is_the_last_in_that_tool_only() -> None:
    """One in its own drawn tool must be named."""
    steps = [calls(("ask", {"input": "x"}), ("itself", {"input": "x"})), says("1"), says("2")]
    with model_endpoint(steps) as outer, model_endpoint([says("Inner.")]) as inner:
        asked, itself = (make(AgentRun, question="Who are you?") for _ in range(2))
        ask = tool("ask", agent_at(inner), asked, gives=asked.last_response)
        again = tool("itself", itself, gives=itself.last_response)
        belt = make(AgentMakeToolbelt)
        init = agent_at(outer, agent_name="outer", toolbelt_spec=belt.toolbelt_spec)
        last = make(AgentRun, question="And now?")
        play({}, belt, init, make(AgentRun, question="Ask."), last, tools=[ask, again])
    first, second = (x["content"] for x in outer.requests[1].body["messages"][-2:])
    assert first == "Inner."
    assert "Say in `agent_name` which agent is meant" in second
    assert last.last_response.value == "2", "after the tool it is the outer one again"


# The toolbelt


def test_a_toolbelt_that_was_made_and_not_wired_is_reported_with_the_wire(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And so is the second agent of a name."""
    belts = [make(AgentMakeToolbelt) for _ in range(3)]
    run = make(AgentRun, question="Hello!")
    play({}, belts[0], make(AgentInit), make(AgentInit), run)
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.count(WIRE) == 1
    assert "no agent has the toolbelt 'default'" in printed
    assert "!! two AgentInit have the name 'agent'" in printed
    has = make(AgentInit, agent_name="has", toolbelt_spec=belts[1].toolbelt_spec)
    update = make(AgentUpdate, new_toolbelt_spec=belts[2].toolbelt_spec)
    for flow in (
        [make(AgentInit)],
        [belts[1], has, make(AgentInit)],
        [belts[2], make(AgentInit), update],
    ):
        play({}, *flow, make(AgentRun, question="Hello!"))
    assert "Draw a line" not in capsys.readouterr().out
