"""The nodes for memories and routes, and the small ones round an agent, as a workflow runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.canvas import chain, make
from xai_mcp_agent.agent.memory.notes import MemoryFailed
from xai_mcp_agent.agent_components import (
    AgentDefineRoute,
    AgentInit,
    AgentLearn,
    AgentMergeSystem,
    AgentNumpyMemory,
    AgentRouter,
    AgentRun,
    AgentToolOutput,
    AgentVectoMemory,
)


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("VECTO_API_KEY", raising=False)


def test_an_agent_remembers_across_runs_by_a_file():
    for request in ("Remember that my dog is called Rex.", "What do you remember about my dog?"):
        memory = make(AgentNumpyMemory, file="notes.db")
        memory.execute({})
        ctx: dict[str, Any] = {}
        agent = make(AgentInit, agent_name="a", agent_memory=memory.memory.value)
        run = make(AgentRun, agent_name="a", conversation=request)
        agent.execute(ctx)
        run.execute(ctx)
    assert "Rex" in run.last_response.value


def test_an_agent_learns_with_its_node():
    ctx: dict[str, Any] = {}
    memory = make(AgentNumpyMemory)
    memory.execute(ctx)
    make(AgentInit, agent_name="a", agent_memory=memory.memory.value).execute(ctx)
    learn = make(AgentLearn, agent_name="a", conversation="I like tea.")
    learn.execute(ctx)
    assert learn.last_response.value
    assert learn.out_conversation.value[0]["content"] == "I like tea."


def test_the_vecto_node_says_what_it_lacks():
    with pytest.raises(MemoryFailed, match="VECTO_API_KEY"):
        make(AgentVectoMemory, vector_space="x").execute({})


def test_the_router_runs_the_chosen_route_and_gives_its_result():
    ctx: dict[str, Any] = {}
    make(AgentInit, agent_name="a").execute(ctx)
    for name, words in (("billing", "Questions about invoices."), ("repairs", "Things broken.")):
        start = make(AgentDefineRoute, agent_flow_name=name, description=words)
        output = make(AgentToolOutput, results=[f"done by {name}"])
        chain(start, output)
        start.init(ctx)
    router = make(AgentRouter, agent_name="a", conversation="My invoice is wrong.")
    router.execute(ctx)
    assert router.chosen_flow_name.value == "billing"
    assert router.result.value == "done by billing"


def test_a_system_message_is_added_to_and_made():
    node = make(AgentMergeSystem, new_system_prompt="Be brief.", conversation="Hi.")
    node.execute({})
    assert node.out_conversation.value == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi."},
    ]
    given = node.out_conversation.value
    again = make(AgentMergeSystem, new_system_prompt="Be kind.", conversation=given)
    again.execute({})
    assert again.out_conversation.value[0]["content"] == "Be brief.\n\nBe kind."
    assert given[0]["content"] == "Be brief."
