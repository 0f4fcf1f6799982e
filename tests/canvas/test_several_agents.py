"""Several agents in one workflow: side by side, one as a tool of another, in loops, in parallel."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import dill
import pytest
from xai_components.base import Component
from xai_components.xai_utils.utils import AwaitFutures, RunParallelThread

from tests.support.canvas import ask_scripted, asking_tool, call, chain, make, play
from tests.support.fault_server import entry
from tests.support.model_endpoint import Step, calls, model_endpoint, says
from xai_mcp_agent.agent_components import (
    AgentInit,
    AgentMakeToolbelt,
    AgentNumpyMemory,
    AgentRun,
    AgentUseMCPTools,
)

from .conftest import UseServers

Flow = list[Component]
Body = dict[str, Any]


@pytest.fixture(autouse=True)
def _servers(use_servers: UseServers, library: dict[str, Any]) -> None:
    use_servers(library=library)


def agent(name: str, *servers: str, **inputs: Any) -> Flow:
    """The nodes that set up an agent with a toolbelt of its own name."""
    belt = make(AgentMakeToolbelt, name=name)
    use = [make(AgentUseMCPTools, server_name=x, toolbelt_name=name) for x in servers]
    init = make(AgentInit, agent_name=name, toolbelt_spec=belt.toolbelt_spec, **inputs)
    return [*use, belt, init]


def asking(name: str, conversation: Any) -> AgentRun:
    return make(AgentRun, agent_name=name, conversation=conversation)


# One as a tool of another


def test_agents_in_agents_keep_their_conversations_apart() -> None:
    """Three deep: each sees what it was asked, and what its own tool answered."""

    def ask_further(body: Body) -> Step:
        last = body["messages"][-1]
        if last["role"] == "tool" or not body.get("tools"):
            return says(f"({last['content']})")
        return calls((body["tools"][0]["function"]["name"], {"input": f"{last['content']}!"}))

    with ExitStack() as stack:
        models = [stack.enter_context(model_endpoint(ask_further)).inputs for _ in range(3)]
        names = ["top", "middle", "bottom"]
        setup = [x for name, it in zip(names, models, strict=True) for x in agent(name, **it)]
        tools = [
            asking_tool("ask_middle", agent="middle", for_toolbelt="top"),
            asking_tool("ask_bottom", agent="bottom", for_toolbelt="middle"),
        ]
        run = asking("top", "Who")
        play({}, *setup, run, tools=tools)
    assert run.last_response.value == "(((Who!!)))"


def test_an_agent_that_is_a_tool_of_itself_is_stopped_and_told_why() -> None:
    """It would go on until the money is gone."""

    def always_calls(body: Body) -> Step:
        last = body["messages"][-1]
        return says(last["content"]) if last["role"] == "tool" else calls(("again", {"input": "x"}))

    run = asking("a", "Go.")
    requests = ask_scripted(always_calls, run=run, tools=[asking_tool("again", agent="a")])
    assert "would run inside itself (a > a > a > a)" in run.last_response.value
    assert len(requests) == 6


# In parallel


def test_agents_run_in_parallel_by_the_nodes_for_it() -> None:
    """RunParallelThread copies `ctx` and the nodes, memory and bridge with them."""
    memory = make(AgentNumpyMemory, file="notes.db")
    answers: list[str] = []
    parallel: list[RunParallelThread] = []
    for topic in ("whales", "travel"):
        run = asking("a", f"Find a book about {topic}.")
        node = make(RunParallelThread, n_workers=1)
        node.body = chain(run, call(answers.append, run.last_response))
        parallel.append(node)
    awaiting = [make(AwaitFutures, futures=x.futures) for x in parallel]
    play({}, memory, *agent("a", "library", agent_memory=memory.memory), *parallel, *awaiting)
    assert sorted("Moby-Dick" in x for x in answers) == [False, True]


def test_an_agent_goes_on_in_another_process() -> None:
    """RunParallelProcess pickles `ctx`; the bridge there is another, the notes are the same."""
    ctx: dict[str, Any] = {}
    memory = make(AgentNumpyMemory)
    play(ctx, memory, *agent("a", "library", agent_memory=memory.memory))
    ctx["agent_a"]["agent_memory"].add("", "The dog is called Rex.", {"dog": "Rex"})
    there = dill.loads(dill.dumps(ctx))
    del ctx
    books, dog = asking("a", "Find a book about whales."), asking("a", "Look up my memory: dog")
    play(there, books, dog)
    assert "Moby-Dick" in books.last_response.value
    assert "Rex" in dog.last_response.value


def test_agents_in_several_threads_share_one_process_and_get_their_own_answers(
    use_servers: UseServers,
) -> None:
    """A workshop's notebook server, or a workflow that runs others side by side."""
    use_servers(it=entry())

    def answer(body: Body) -> Step:
        results = [x["content"] for x in body["messages"] if x["role"] == "tool"]
        if results:
            return says(" ".join(results))
        return calls(("it_echo", {"text": body["messages"][-1]["content"]}), ("it_pid", {}))

    with model_endpoint(answer) as endpoint, ThreadPoolExecutor(6) as pool:

        def run(name: str) -> str:
            node = asking(name, f"I am {name}")
            play({}, *agent(name, "it", **endpoint.inputs), node)
            return node.last_response.value

        names = [f"agent{number}" for number in range(6)]
        answers = list(pool.map(run, names))
    assert [x.rpartition(" ")[0] for x in answers] == [f"I am {name}" for name in names]
    assert len({x.rpartition(" ")[2] for x in answers}) == 1, "one server process for all"
