"""Tools drawn on the canvas, as a toolset: their nodes run in the workflow's thread.

Nodes keep values in their ports, and many of them in themselves, so drawn tools run one at a time:
the calls of one turn run in their order.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, cast

import anyio

from ..agent.toolsets import FixedToolset
from ..core.calls import ToolInvocation
from ..core.errors import DefinitionChanged, XaiMcpError
from ..core.json import JsonObject
from ..core.results import ToolResult
from ..core.tools import Tool
from ..sources.canvas import DrawnTool, drawn_tools
from .workflow_thread import OutOfTime

RunDrawnTool: TypeAlias = Callable[[DrawnTool, JsonObject], Awaitable[ToolResult]]
"""A function that runs a drawn tool in the thread of its workflow."""

_TOOLBELT = "toolbelt_"
_OVERRUN = (
    "The drawn tool {name!r} did not end within its limit of {seconds:g} seconds, so there is no "
    "result. What it has done so far is done, and its nodes may go on for a while. Go on without "
    "it, or say that it takes too long (its limit is `timeout_seconds` of AgentDefineTool)."
)
_NO_START = (
    "The drawn tool {name!r} did not start within {seconds:g} seconds: drawn tools run one at a "
    "time, and the nodes of {late!r}, which ran over its limit, still go on. Go on without them."
)


def list_drawn_tools(ctx: Mapping[str, Any]) -> list[Tool]:
    """Return all tools drawn so far, of all toolbelts; of two with one name, the last."""
    return [x.tool() for x in collect_drawn_tools(ctx).values()]


def collect_drawn_tools(ctx: Mapping[str, Any]) -> dict[str, DrawnTool]:
    """Return the same tools by name, ready to be called in the workflow's thread."""
    # Copy first: agents in other threads write to the same `ctx`.
    belts = [x for name, x in list(ctx.items()) if str(name).startswith(_TOOLBELT)]
    tools: dict[str, Any] = {}
    for belt in belts:
        if isinstance(belt, Mapping):  # else it is a value that a person put there
            tools |= cast(Mapping[str, Any], belt)
    usable = {n: x for n, x in tools.items() if isinstance(x, DrawnTool) or callable(x)}
    return drawn_tools(usable)


class DrawnToolset(FixedToolset):
    """The drawn tools of one agent. They run one at a time, each with its limit."""

    def __init__(self, tools: Mapping[str, DrawnTool], run: RunDrawnTool) -> None:
        self._by_name = tools
        self._run = run
        self._tools = tuple(x.tool() for x in tools.values())
        self._alone = anyio.Lock()
        self._running = ""  # the tool with running nodes, also after its caller stopped waiting

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Run the nodes of a drawn tool."""
        name = invocation.tool.name
        try:
            async with self._alone:
                return await self._in_time(self._by_name[name], invocation.arguments)
        except (OutOfTime, DefinitionChanged):  # of this tool; of a tool that its nodes call
            raise
        except Exception as cause:
            # Whatever a person's nodes raise, the model should read it and the run go on.
            raise XaiMcpError(_failure(name, cause)) from cause

    async def _in_time(self, tool: DrawnTool, arguments: JsonObject) -> ToolResult:
        loop, late, has_begun = asyncio.get_running_loop(), self._running, False

        def begin() -> None:
            scope.deadline = loop.time() + tool.timeout_seconds

        def run(ctx: Any, text: str, values: JsonObject | None) -> Any:
            nonlocal has_begun
            has_begun, self._running = True, tool.name
            # The time limit starts here: waiting for a person in the same thread does not count.
            loop.call_soon_threadsafe(begin)
            try:
                return tool.run(ctx, text, values)
            finally:
                self._running = ""

        with anyio.CancelScope() as scope:
            if late:
                begin()
            return await self._run(replace(tool, run=run), arguments)
        words = _OVERRUN if has_begun else _NO_START
        raise OutOfTime(words.format(name=tool.name, seconds=tool.timeout_seconds, late=late))


def _failure(name: str, cause: Exception) -> str:
    frames = traceback.extract_tb(cause.__traceback__)
    where = f" (in {frames[-1].name}, line {frames[-1].lineno})" if frames else ""
    return f"The drawn tool {name!r} failed: {type(cause).__name__}: {cause}{where}"
