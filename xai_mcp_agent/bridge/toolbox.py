"""One agent's tools during one run: those drawn on the canvas, and those of its servers."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable, Mapping

from ..agent.calls import OnProgress
from ..catalog.toolbelt import Offer, Toolbelt
from ..core.errors import XaiMcpError
from ..core.names import did_you_mean
from ..core.results import ToolResult
from ..core.tools import JsonObject, Tool
from ..sources.canvas import CANVAS, DrawnTool
from .engine import Engine

RunDrawn = Callable[[DrawnTool, JsonObject], Awaitable[ToolResult]]
"""Runs a drawn tool in the thread of its workflow."""


class AgentToolbox:
    """The loop's `Toolbox` over an engine. Used on the bridge's loop."""

    def __init__(
        self,
        engine: Engine,
        drawn: Mapping[str, DrawnTool],
        servers: tuple[str, ...],
        run_drawn: RunDrawn,
    ) -> None:
        self._engine = engine
        self._drawn = drawn
        self._servers = servers
        self._run_drawn = run_drawn
        self._toolbelt = Toolbelt(tuple(x.tool() for x in drawn.values()), servers)

    async def wait_until_usable(self) -> dict[str, XaiMcpError]:
        """Wait for all servers at once, each to its own limit; the failed ones with the reason."""
        return await self._engine.connect(self._servers)

    async def offer(self) -> Offer:
        """The tools that exist now. Listings whose time is over are made anew first."""
        ready = [x.name for x in await self._engine.servers() if x.state == "ready"]
        await self._engine.pool.ready(name for name in self._servers if name in ready)
        return self._toolbelt.offer(self._engine.catalog)

    async def call(self, tool: Tool, arguments: JsonObject, on_progress: OnProgress) -> ToolResult:
        """Check the arguments and call the tool wherever it lives."""
        if tool.source != CANVAS:
            return await self._engine.call_tool(
                tool.source, tool.name, arguments, on_progress=on_progress
            )
        self._engine.check_arguments(tool, arguments)
        try:
            return await self._run_drawn(self._drawn[tool.name], arguments)
        except Exception as cause:
            # Whatever a person's nodes raise, the model should read it and the run go on.
            raise XaiMcpError(_drawn_failure(tool.name, cause)) from cause

    def why_unknown(self, shown_name: str, offer: Offer) -> str:
        """Why there is no such tool for this agent, and what is nearest."""
        for name in self._engine.settings.servers:
            if name not in self._servers and self._offers(name, shown_name):
                return (
                    f"The tool {shown_name!r} belongs to the server {name!r}, which is not enabled "
                    "for this agent. Use another tool."
                )
        known = offer.names()
        hint = did_you_mean(shown_name, known)
        listed = f"The tools are: {', '.join(known)}." if known else "There are no tools."
        return f"There is no tool {shown_name!r}. {hint or listed}"

    def _offers(self, server: str, shown_name: str) -> bool:
        own_name = shown_name.removeprefix(f"{server}_")
        tools = self._engine.catalog.tools(server)
        is_prefixed = shown_name.startswith(f"{server}_")
        return any(x.name in (own_name, shown_name) for x in tools) or (is_prefixed and not tools)


def _drawn_failure(name: str, cause: Exception) -> str:
    frames = traceback.extract_tb(cause.__traceback__)
    where = f" (in {frames[-1].name}, line {frames[-1].lineno})" if frames else ""
    return f"The drawn tool {name!r} failed: {type(cause).__name__}: {cause}{where}"
