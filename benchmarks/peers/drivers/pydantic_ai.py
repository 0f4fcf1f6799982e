"""pydantic-ai: an `MCPToolset` for each server, entered together as an agent enters them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.toolsets import CombinedToolset

from .base import CALL_SECONDS, START_SECONDS, Driver, Entry, Usable


class Peer(Driver):
    """Keeps its sessions; lists of tools cached until a notice."""

    async def connect(self, servers: Mapping[str, Entry], usable: Usable) -> dict[str, str]:
        self._toolsets = {name: _toolset(name, x) for name, x in servers.items()}
        self._all = CombinedToolset([x.prefixed(name) for name, x in self._toolsets.items()])
        await self._all.__aenter__()

        async def list_tools(name: str) -> None:
            usable(name, len(await self._toolsets[name].list_tools()))

        await asyncio.gather(*(list_tools(name) for name in servers))
        return {}

    async def list_again(self, server: str) -> int:
        toolset = self._toolsets[server]
        toolset.cache_tools = False
        return len(await toolset.list_tools())

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        return await self._toolsets[server].direct_call_tool(tool, arguments)

    async def close(self) -> None:
        await self._all.__aexit__(None, None, None)


def _toolset(name: str, entry: Entry) -> MCPToolset[Any]:
    url = entry.get("url")
    target = url or StdioTransport(command=entry["command"], args=list(entry["args"]))
    return MCPToolset(target, id=name, init_timeout=START_SECONDS, read_timeout=CALL_SECONDS)
