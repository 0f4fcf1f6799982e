"""One server of an endpoint as it is, for a bridge in another process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.calls import Caller, ToolInvocation
from ..core.json import JsonObject
from ..core.results import OnProgress, Prompt, ToolResult
from ..core.tools import Tool
from .endpoint import Endpoint


class KeptServer(Endpoint):
    """All tools and prompts of one server under its own names, and no step of ours between.

    The bridge filters, asks, and records by itself.
    """

    @property
    def title(self) -> tuple[str, str]:
        """What the server calls itself, with its version."""
        return self._operations.engine.pool.start(self._name_of_server).status().server, ""

    async def listed(self) -> list[tuple[str, Tool]]:
        """The tools of the server."""
        return [(x.name, x) for x in await self._operations.tools_of(self._name_of_server)]

    async def lists(self) -> dict[str, object]:
        """See `Endpoint.lists`; tools that agents may not use count as well."""
        tools = self._operations.engine.catalog.tools(self._name_of_server)
        return {**await super().lists(), "tools": tools}

    async def instructions(self) -> str:
        """The words of the server."""
        return self._operations.engine.catalog.instructions(self._name_of_server)

    def schema(self, name: str) -> Mapping[str, Any] | None:
        """The input schema of a tool that was listed."""
        tool = self._operations.engine.catalog.named(self._name_of_server, name)
        return tool and tool.input_schema

    async def call(
        self,
        name: str,
        arguments: JsonObject,
        caller: Caller,
        on_progress: OnProgress | None,
        meta: JsonObject | None,
    ) -> ToolResult:
        """Have the server make the call."""
        engine = self._operations.engine
        tool = await engine.find_tool(self._name_of_server, name, None, caller)
        return await engine.perform(
            ToolInvocation(tool, arguments, caller, "", None, on_progress, meta)
        )

    async def prompts(self) -> dict[str, tuple[str, Prompt]]:
        """The prompts of the server."""
        name = self._name_of_server
        return {x.name: (name, x) for x in (await self._operations.prompts()).get(name, ())}

    @property
    def _name_of_server(self) -> str:
        return self.sources[0]
