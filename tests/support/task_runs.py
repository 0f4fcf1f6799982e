"""Runs of agents with a task each: the tools they called, and the tools in their requests.

The real loop over a real bridge; the model is one on the wire, or the offline one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from xai_mcp_agent import Bridge
from xai_mcp_agent.agent.conversation import Conversation
from xai_mcp_agent.agent.events import ModelAsked, RunEvent, ToolFinished
from xai_mcp_agent.agent.loop import AgentRun, AgentSpec
from xai_mcp_agent.agent.models.choice import AgentModel
from xai_mcp_agent.agent.text_protocol import ProtocolChoice
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.bridge.source_toolset import SourceToolset
from xai_mcp_agent.bridge.toolbox import agent_tools
from xai_mcp_agent.catalog.definitions import tokens_of
from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.core.provider_schema import FunctionSpec
from xai_mcp_agent.search.meta_tools import META_TOOLS

META = tuple(x.name for x in META_TOOLS)


@dataclass(frozen=True)
class Task:
    """A person's request, and the tools, any of which does it, by their servers' names."""

    request: str
    needed: frozenset[str]


@dataclass
class TaskRun:
    """The run of a task. `requests` are the functions in each request to the model."""

    task: Task
    requests: list[Sequence[FunctionSpec]] = field(default_factory=list[Sequence[FunctionSpec]])
    calls: list[ToolFinished] = field(default_factory=list[ToolFinished])
    answer: str = ""

    @property
    def called_tools(self) -> list[str]:
        """The tools that were called without an error, by their servers' names."""
        calls = (x for x in self.calls if x.tool not in META and not x.result.is_error)
        return [x.result.text.split(" ", 1)[0] for x in calls]

    @property
    def is_done(self) -> bool:
        """Whether a needed tool was called."""
        return not self.task.needed.isdisjoint(self.called_tools)

    @property
    def tokens(self) -> list[int]:
        """The estimated tokens of the tools in each request."""
        return [sum(map(tokens_of, x)) for x in self.requests]


OnEvent = Callable[[Operations, RunEvent], Awaitable[None]]


async def ignore_event(_operations: Operations, _event: RunEvent) -> None:
    """Does nothing."""


def run_tasks(
    bridge: Bridge,
    servers: Sequence[str],
    tasks: Sequence[Task],
    *,
    base_url: str = "",
    protocol: ProtocolChoice = "native",
    max_thoughts: int = 10,
    on_event: OnEvent = ignore_event,
) -> list[TaskRun]:
    """Run each task with a new agent, one after the other.

    The model is the one at this address; without one it is the offline model. Each run waits until
    `on_event` returns.
    """

    async def play(operations: Operations, task: Task) -> TaskRun:
        run = TaskRun(task)
        operations = operations.for_caller(Caller("agent", "a"))
        remote = AgentModel(provider="openai", name="m", base_url=base_url)
        model = (remote if base_url else AgentModel()).open()

        async def emit(event: RunEvent) -> None:
            if isinstance(event, ModelAsked):
                run.requests.append(event.request.functions)
            if isinstance(event, ToolFinished):
                run.calls.append(event)
            await on_event(operations, event)

        sources = SourceToolset(operations, operations.choice(servers), {})
        tools, pages = agent_tools(operations, [sources])
        await sources.connect(lambda _: None)
        spec = AgentSpec("a", model, max_thoughts=max_thoughts, protocol=protocol)
        try:
            outcome = await AgentRun(spec, Conversation(task.request), emit).go(tools, pages)
        finally:
            await model.aclose()
        run.answer = outcome.answer
        return run

    return [bridge.run(play, x) for x in tasks]
