"""Cost of a turn of an agent with 5,000 tools, on the loop that all servers share.

The model runs in this process and answers at once with a call, so only the loop's own work is
measured: the available tools, the selection that a request shows, the search, the messages, the
call through the pipeline. A request shows as many tools as fit its budget of tokens; the model also
calls a tool by name that is not shown, as after a search.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from xai_mcp_agent import Bridge, JsonObject, ToolResult
from xai_mcp_agent.agent.conversation import Conversation
from xai_mcp_agent.agent.events import RunEvent
from xai_mcp_agent.agent.loop import AgentRun, AgentSpec
from xai_mcp_agent.agent.messages import ToolCall
from xai_mcp_agent.agent.models.base import ModelReply, ModelRequest, OnAgain, OnText
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.bridge.toolbox import agent_tools
from xai_mcp_agent.canvas.drawn_tools import DrawnToolset
from xai_mcp_agent.sources.canvas import DrawnTool

from .rows import Row, size

_TOOLS = size(5_000, 300)
_TURNS = size(40, 4)
_TARGET_MS = 10.0
_WORK = {"text": "x"}
_QUERY = {"query": "look things up in place tool_9"}
_CALLS = (
    ("a turn", "tool_7", _WORK, _TARGET_MS),
    ("a turn with a tool that is not shown", f"tool_{_TOOLS - 1}", _WORK, _TARGET_MS),
    ("a turn with a search", "tool_search", _QUERY, None),
    ("a turn with an unknown name", "tool_7x", _WORK, _TARGET_MS),
)


def rows() -> Iterator[Row]:
    """Measure the first turn of a run, in which definitions are made, and the later ones."""
    with Bridge({"mcpServers": {}}) as bridge:
        for number, (what, name, arguments, target) in enumerate(_CALLS):
            turns = bridge.run(_measure_turns, ToolCall("", name, json.dumps(arguments)))
            first, *later = (x * 1000 for x in turns)
            spread = f"[{min(later):.2f} to {max(later):.2f}]"
            if number == 0:
                yield Row(f"the first turn with {_TOOLS:,} tools, CPU", first, "ms")
            value = statistics.median(later)
            yield Row(f"{what}, {_TOOLS:,} tools, CPU", value, "ms", target, spread)


async def _measure_turns(operations: Operations, call: ToolCall) -> list[float]:
    """Return the processor time of each turn in which the model makes this call."""
    model = _RepeatingModel(call)
    calls: list[str] = []

    async def run(tool: DrawnTool, arguments: JsonObject) -> ToolResult:
        calls.append(tool.name)
        return ToolResult.of_text("done")

    async def emit(event: RunEvent) -> None:
        pass

    tools_by_name = {f"tool_{n}": _static_tool(f"tool_{n}") for n in range(_TOOLS)}
    await operations.engine.decisions.read()
    tools, pages = agent_tools(operations, [DrawnToolset(tools_by_name, run)])
    spec = AgentSpec("a", model, max_thoughts=_TURNS)
    await AgentRun(spec, Conversation("Go."), emit).go(tools, pages)
    assert bool(calls) == (call.name in tools_by_name), f"{call.name} was called {len(calls)} times"
    return [later - earlier for earlier, later in pairwise(model.request_times)]


def _static_tool(name: str) -> DrawnTool:
    parameters = {
        "text": {"type": "string", "description": "What is looked for, in a few words."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
        "order": {"type": "string", "enum": ["newest", "oldest", "best"]},
    }
    schema = {"properties": parameters, "required": []}
    return DrawnTool(name, f"Looks things up in place {name} and gives the best.", print, schema)


class _RepeatingModel:
    """A model that makes one call again and again, with the processor time of each request."""

    name = "scripted"
    calls_functions = True

    def __init__(self, call: ToolCall) -> None:
        self._call = call
        self.request_times: list[float] = [time.process_time()]

    async def reply(
        self, request: ModelRequest, on_text: OnText, on_again: OnAgain | None = None
    ) -> ModelReply:
        """Return the call once more."""
        self.request_times.append(time.process_time())
        call = replace(self._call, id=f"call_{len(self.request_times)}")
        return ModelReply("again", (call,), "tool_calls")

    async def aclose(self) -> None:
        """Nothing is open."""
