"""openai-agents: `MCPServerManager`, with its parallel start switched on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from agents.mcp import MCPServerManager, MCPServerStdio, MCPServerStreamableHttp

from .base import CALL_SECONDS, START_SECONDS, Driver, Entry, Usable, describe


class Peer(Driver):
    """Keeps its sessions; parallel start, failed servers dropped, lists of tools cached."""

    async def connect(self, servers: Mapping[str, Entry], usable: Usable) -> dict[str, str]:
        self._servers = {name: _server(name, x) for name, x in servers.items()}
        self._manager = MCPServerManager(
            self._servers.values(),
            connect_timeout_seconds=START_SECONDS,
            connect_in_parallel=True,
        )
        await self._manager.__aenter__()

        async def list_tools(server: Any) -> None:
            usable(server.name, len(await server.list_tools()))

        await asyncio.gather(*(list_tools(x) for x in self._manager.active_servers))
        return {server.name: describe(x) for server, x in self._manager.errors.items()}

    async def list_again(self, server: str) -> int:
        self._servers[server].invalidate_tools_cache()
        return len(await self._servers[server].list_tools())

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        return (await self._servers[server].call_tool(tool, arguments)).content[0].text

    async def close(self) -> None:
        await self._manager.__aexit__(None, None, None)


def _server(name: str, entry: Entry) -> Any:
    options = {"name": name, "cache_tools_list": True}
    options["client_session_timeout_seconds"] = CALL_SECONDS
    if "url" in entry:
        return MCPServerStreamableHttp({"url": entry["url"]}, **options)
    return MCPServerStdio({"command": entry["command"], "args": list(entry["args"])}, **options)
