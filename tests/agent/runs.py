"""Runs of the agent loop alone: a scripted model and functions as tools; no node, no server."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio

from tests.support.scripted_model import Replies, ScriptedModel
from xai_mcp_agent import Tool, ToolKey, ToolResult
from xai_mcp_agent.agent.conversation import Conversation
from xai_mcp_agent.agent.events import Emit, RunEvent, RunFinished, ToolStarted
from xai_mcp_agent.agent.loop import AgentRun, AgentSpec
from xai_mcp_agent.agent.models.base import Model
from xai_mcp_agent.agent.results import ResultPages
from xai_mcp_agent.agent.state import RunState
from xai_mcp_agent.agent.toolsets import AgentTools, FixedToolset
from xai_mcp_agent.catalog.definitions import Definitions
from xai_mcp_agent.core.calls import ToolInvocation

WAIT_SECONDS = 30
LONG = "a long story. " * 5_000


class StoppedHere(Exception):
    """Ends a run in the middle."""


class Functions(FixedToolset):
    """Python functions as tools; coroutines are awaited."""

    def __init__(self, *functions: Callable[..., Any]) -> None:
        self._functions = {x.__name__: x for x in functions}
        self._tools = [_tool(x) for x in functions]

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        value = self._functions[invocation.tool.name](**invocation.arguments)
        return ToolResult.of_text(str(await value if inspect.isawaitable(value) else value))


def _tool(function: Callable[..., Any]) -> Tool:
    properties = {x: {"type": "string"} for x in inspect.signature(function).parameters}
    name = function.__name__
    schema = {"type": "object", "properties": properties}
    return Tool(ToolKey("tools", "", name), f"Does {name}.", schema)


def tell() -> str:
    return LONG


def add() -> int:
    return 5


def shout(input: str = "") -> str:
    return input.upper()


def boom() -> str:
    raise ZeroDivisionError("inner detail")


@dataclass
class RunRecord:
    """A run: its last state, its model, its events, and its end unless it was `StoppedHere`."""

    state: RunState
    model: ScriptedModel
    end: RunFinished | None = None
    events: list[RunEvent] = field(default_factory=list[RunEvent])

    @property
    def outcome(self) -> RunFinished:
        assert self.end is not None
        return self.end

    @property
    def answer(self) -> str:
        return self.outcome.answer

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.state.conversation.messages

    @property
    def roles(self) -> list[str]:
        return [x["role"] for x in self.messages]

    def request(self, number: int = -1) -> list[dict[str, Any]]:
        return list(self.model.requests[number].messages)

    def functions(self, number: int = -1) -> list[str]:
        return [x.name for x in self.model.requests[number].functions]


async def go(
    model: ScriptedModel | Replies,
    start: Any = "Go.",
    *functions: Callable[..., Any],
    emit: Emit | None = None,
    stop: anyio.Event | None = None,
    runs: list[RunRecord] | None = None,
    by: Model | None = None,
    **spec: Any,
) -> RunRecord:
    """Run an agent with the four functions above, or with others; cancel it at `stop`.

    `runs` gets the record, even if the run fails. `by` replaces the scripted model.
    """
    scripted = model if isinstance(model, ScriptedModel) else ScriptedModel(model)
    begin = start if isinstance(start, RunState) else RunState(Conversation(start))
    pages = ResultPages(lambda key: key.name, begin.long_results)
    own = Functions(*(functions or (tell, add, shout, boom)))
    tools = AgentTools([own, pages], Definitions(), begin.names)
    record = RunRecord(begin, scripted)
    if runs is not None:
        runs.append(record)

    async def on_event(event: RunEvent) -> None:
        record.events.append(event)
        if emit:
            await emit(event)

    run = AgentRun(AgentSpec("a", by or scripted, **spec), begin, on_event)
    try:
        if stop is None:
            record.end = await run.go(tools, pages)
        else:
            await _until(stop, partial(run.go, tools, pages))
    except ExceptionGroup as stopped:
        if stopped.split(StoppedHere)[1] is not None:
            raise
    finally:
        record.state = run.state
    return record


async def _until(stop: anyio.Event, work: Callable[[], Awaitable[object]]) -> None:
    with anyio.fail_after(WAIT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            await stop.wait()
            tasks.cancel_scope.cancel()


def stopping_at(count: int) -> Emit:
    """Return a listener that ends the run when this many calls have begun."""
    starts: list[RunEvent] = []

    async def emit(event: RunEvent) -> None:
        if isinstance(event, ToolStarted):
            starts.append(event)
            if len(starts) == count:
                raise StoppedHere

    return emit


def through_json(state: RunState) -> RunState:
    """Return the state as another process reads it."""
    return RunState.from_json(json.loads(json.dumps(state.to_json())))
