"""Runs of agents that have a task each: what they called, and what their requests showed of tools.

The real loop over a real bridge; the model is one on the wire, or the offline one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from xai_mcp_agent import Bridge
from xai_mcp_agent.agent.conversation import Conversation
from xai_mcp_agent.agent.events import ModelAsked, RunEvent, ToolFinished
from xai_mcp_agent.agent.loop import AgentRun, AgentSpec
from xai_mcp_agent.agent.models.choice import model_for
from xai_mcp_agent.agent.text_protocol import ProtocolChoice
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.bridge.source_toolset import SourceToolset
from xai_mcp_agent.bridge.toolbox import agent_tools
from xai_mcp_agent.catalog.definitions import tokens_of
from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.core.provider_schema import FunctionSpec
from xai_mcp_agent.search.meta_tools import META_TOOLS, names_in

META = tuple(x.name for x in META_TOOLS)


@dataclass(frozen=True)
class Task:
    """What a person asks for, and the tools, any of which does it, by their servers' names."""

    asked: str
    needed: frozenset[str]


@dataclass
class Told:
    """What one run told of. `requests` are the functions that each of its requests showed."""

    task: Task
    requests: list[Sequence[FunctionSpec]] = field(default_factory=list[Sequence[FunctionSpec]])
    finished: list[ToolFinished] = field(default_factory=list[ToolFinished])
    answer: str = ""

    @property
    def called(self) -> list[str]:
        """The tools whose servers say that they were called, by their names there."""
        done = (x for x in self.finished if x.tool not in META and not x.result.is_error)
        return [x.result.text.split(" ", 1)[0] for x in done]

    @property
    def is_done(self) -> bool:
        """Whether a needed tool was called."""
        return not self.task.needed.isdisjoint(self.called)

    @property
    def found(self) -> list[list[str]]:
        """What each search found, as shown names, best first."""
        return [names_in(x.result.structured) for x in self.finished if x.tool == META[0]]

    @property
    def tokens(self) -> list[int]:
        """What the tools in each request cost, by our estimate of what was really sent."""
        return [sum(map(tokens_of, x)) for x in self.requests]


OnEvent = Callable[[Operations, RunEvent], Awaitable[None]]


async def nothing(_engine: Operations, _event: RunEvent) -> None:
    """Does not listen."""


def run_tasks(
    bridge: Bridge,
    servers: Sequence[str],
    tasks: Sequence[Task],
    *,
    base_url: str = "",
    protocol: ProtocolChoice = "native",
    max_thoughts: int = 10,
    on_event: OnEvent = nothing,
) -> list[Told]:
    """Each task with an agent of its own, one after the other.

    The model is the one at this address; without one it is the offline model. `on_event` is told
    what happens in each run, which goes on when it returns.
    """

    async def play(operations: Operations, task: Task) -> Told:
        told = Told(task)
        operations = operations.for_caller(Caller("agent", "a"))
        model = model_for("openai", "m", base_url=base_url) if base_url else model_for("offline")

        async def emit(event: RunEvent) -> None:
            if isinstance(event, ModelAsked):
                told.requests.append(event.request.functions)
            if isinstance(event, ToolFinished):
                told.finished.append(event)
            await on_event(operations, event)

        sources = SourceToolset(operations, operations.choice(servers), {})
        tools, pages = agent_tools(operations, [sources])
        await sources.connect(lambda _: None)
        spec = AgentSpec("a", model, max_thoughts=max_thoughts, protocol=protocol)
        try:
            ended = await AgentRun(spec, Conversation(task.asked), emit).go(tools, pages)
        finally:
            await model.aclose()
        told.answer = ended.answer
        return told

    return [bridge.run(play, x) for x in tasks]
