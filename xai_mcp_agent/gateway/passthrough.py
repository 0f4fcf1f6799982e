"""One server of an endpoint, unchanged, for a bridge in another process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.calls import Caller, ToolInvocation
from ..core.json import JsonObject
from ..core.results import OnProgress, Prompt, ToolResult
from ..core.tools import Tool
from .endpoint import Endpoint


class PassthroughEndpoint(Endpoint):
    """Tools and prompts of one server under its own names, without filters or approvals.

    The bridge at the other end filters, asks, and records.
    """

    @property
    def title(self) -> tuple[str, str]:
        """Return the server's own name and version."""
        return self._operations.engine.pool.start(self._server).status().server, ""

    async def list_tools(self) -> list[tuple[str, Tool]]:
        """Return the tools of the server."""
        return [(x.name, x) for x in await self._operations.tools_of(self._server)]

    async def lists(self) -> dict[str, object]:
        """See `Endpoint.lists`; includes tools that agents may not use."""
        tools = self._operations.catalog.tools(self._server)
        return {**await super().lists(), "tools": tools}

    async def instructions(self) -> str:
        """Return the server's instructions."""
        return self._operations.catalog.instructions(self._server)

    def schema(self, name: str) -> Mapping[str, Any] | None:
        """Return the input schema of a listed tool."""
        tool = self._operations.catalog.tool(self._server, name)
        return tool and tool.input_schema

    async def call(
        self,
        name: str,
        arguments: JsonObject,
        caller: Caller,
        on_progress: OnProgress | None,
        meta: JsonObject | None,
    ) -> ToolResult:
        """Pass the call to the server."""
        tool = await self._operations.for_caller(caller).tool(self._server, name)
        invocation = ToolInvocation(tool, arguments, caller, "", None, on_progress, meta)
        return await self._operations.engine.perform(invocation)

    async def prompts(self) -> dict[str, tuple[str, Prompt]]:
        """Return the prompts of the server."""
        name = self._server
        return {x.name: (name, x) for x in (await self._operations.prompts()).get(name, ())}

    @property
    def _server(self) -> str:
        return self.sources[0]
