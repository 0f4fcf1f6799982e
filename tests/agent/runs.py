"""Runs of an agent with two drawn tools, right on a bridge's loop: their state can be looked at."""

from __future__ import annotations

from typing import Any

from tests.support.model_endpoint import ModelEndpoint
from xai_mcp_agent import Bridge, JsonObject, ToolResult
from xai_mcp_agent.agent.conversation import Conversation
from xai_mcp_agent.agent.events import Emit, RunEvent, RunFinished
from xai_mcp_agent.agent.loop import AgentRun, AgentSpec
from xai_mcp_agent.agent.models.choice import model_for
from xai_mcp_agent.agent.state import RunState
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.bridge.toolbox import agent_tools
from xai_mcp_agent.canvas.drawn_tools import DrawnToolset
from xai_mcp_agent.search.selector import Selector
from xai_mcp_agent.sources.canvas import DrawnTool

LONG = "a long story. " * 5_000


class StoppedHere(Exception):
    """What ends a run in the middle."""


async def unheard(event: RunEvent) -> None:
    """Nobody hears of it."""


def go(
    bridge: Bridge,
    endpoint: ModelEndpoint,
    start: RunState | Conversation,
    *,
    emit: Emit = unheard,
    selector: Selector | None = None,
    provider: str = "openai",
    **spec: Any,
) -> tuple[RunState, RunFinished | None]:
    """Run an agent from here; its last state, and what it came to unless it was `StoppedHere`.

    `spec` are further fields of its `AgentSpec`.
    """
    drawn = {"tell": _drawn("tell", lambda: LONG), "add": _drawn("add", lambda: 5)}

    async def call(tool: DrawnTool, arguments: JsonObject) -> ToolResult:
        return tool.call({}, arguments)

    async def play(operations: Operations) -> tuple[RunState, RunFinished | None]:
        model = model_for(provider, "m", base_url=endpoint.base_url)
        state = start if isinstance(start, RunState) else None
        await operations.engine.decisions.read()
        tools, pages = agent_tools(operations, [DrawnToolset(drawn, call)], state=state)
        tools.selector = selector or tools.selector
        run = AgentRun(AgentSpec("a", model, **spec), start, emit)
        try:
            finished = await run.go(tools, pages)
        except ExceptionGroup as stopped:
            if stopped.split(StoppedHere)[1] is not None:
                raise
            return run.state, None
        finally:
            await model.aclose()
        return run.state, finished

    return bridge.run(play)


def _drawn(name: str, value: Any) -> DrawnTool:
    return DrawnTool(name, f"Does {name}.", lambda *_: value())
