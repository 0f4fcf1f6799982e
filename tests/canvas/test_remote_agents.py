"""Agents on the canvas that ask agents of others: the node, a scripted model, a real A2A server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.a2a_server import AgentServer, agents
from tests.support.canvas import make, play
from tests.support.model_endpoint import Step, calls, model_endpoint, says
from xai_mcp_agent import BadSetting, UnknownServer
from xai_mcp_agent.agent_components import (
    AgentInit,
    AgentMakeToolbelt,
    AgentRun,
    AgentUseAgents,
    AgentUseMCPTools,
)

from .conftest import UseServers


@pytest.fixture(scope="module")
def server() -> Iterator[AgentServer]:
    with agents() as running:
        yield running


@pytest.fixture
def known(server: AgentServer, use_servers: UseServers) -> Path:
    file = use_servers(off={"command": "a", "disabled": True})
    settings = json.loads(file.read_text(encoding="utf-8"))
    settings["agents"] = {"painter": {"url": server.url("rpc")}, "broken": {}}
    file.write_text(json.dumps(settings), encoding="utf-8")
    return file


def tool_texts(body: dict[str, Any]) -> list[str]:
    return [x["content"] for x in body["messages"] if x["role"] == "tool"]


@pytest.mark.usefixtures("known")
def test_an_agent_asks_another_one_and_answers_its_question(server: AgentServer) -> None:
    """The question comes to the model, and its answer goes on with the same task."""

    def script(body: dict[str, Any]) -> Step:
        told = tool_texts(body)
        if not told:
            return calls(("painter_echo", {"message": "ask"}))
        if len(told) == 1:
            task, context = told[0].split("task_id ")[1].split(" and context_id ")
            ids = {"task_id": task, "context_id": context.split(".")[0]}
            return calls(("painter_echo", {"message": "red", **ids}))
        return says(told[1].partition("\n")[0])

    with model_endpoint(script) as endpoint:
        belt = make(AgentMakeToolbelt)
        model = {"agent_provider": "openai", "agent_model": "m", "api_key": "sk-dummy"}
        agent = make(
            AgentInit,
            agent_name="a",
            toolbelt_spec=belt.toolbelt_spec,
            base_url=endpoint.base_url,
            **model,
        )
        run = make(AgentRun, agent_name="a", conversation="Paint it.")
        use = [make(AgentUseAgents, remote_agent=x) for x in ("painter", "broken")]
        ctx: dict[str, Any] = {}
        play(ctx, *use, belt, agent, run)
        first = endpoint.requests[0].body
    assert run.last_response.value == "thanks for red"
    assert [x["function"]["name"] for x in first["tools"]] == [
        "painter_echo",
        "painter_count_words",
    ]
    assert ctx["sources_default"] == ["painter", "broken"]
    assert belt.toolbelt_spec.value["sources"] == ["painter", "broken"]
    assert ctx["agent_a"]["enabled_sources"] == ["painter", "broken"]
    assert [x["parts"][0]["text"] for x in server.seen()["messages"]] == ["ask", "red"]


@pytest.mark.usefixtures("known")
def test_the_node_says_which_agents_there_are_and_which_node_fits() -> None:
    with pytest.raises(UnknownServer, match="Known: painter"):
        play({}, make(AgentUseAgents, remote_agent="paintr"))
    with pytest.raises(UnknownServer, match="node for what stands there is AgentUseAgents"):
        play({}, make(AgentUseMCPTools, server_name="painter"))
    with pytest.raises(UnknownServer, match="node for what stands there is AgentUseMCPTools"):
        play({}, make(AgentUseAgents, remote_agent="off"))
    with pytest.raises(BadSetting, match="`remote_agent`"):
        play({}, make(AgentUseAgents))
