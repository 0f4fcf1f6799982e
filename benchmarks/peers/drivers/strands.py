"""strands-agents: `MCPClient.load_servers`, then the tools of each, as its agent loads them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from strands.tools.mcp import MCPClient

from .base import START_SECONDS, Driver, Entry, Usable


class Peer(Driver):
    """Keeps its sessions, each server with a thread and a loop; goes on without those that fail."""

    async def connect(self, servers: Mapping[str, Entry], usable: Usable) -> dict[str, str]:
        entries = {
            name: {**x, "startup_timeout": int(START_SECONDS)} for name, x in servers.items()
        }
        clients = MCPClient.load_servers(
            {"mcpServers": entries}, continue_on_error=True, prefix_with_server_name=True
        )
        self._clients = dict(zip(servers, clients, strict=True))
        # Loading waits in its thread: an agent does it while it is made, one after another.
        await asyncio.to_thread(self._load, usable)
        return {}

    def _load(self, usable: Usable) -> None:
        for name, client in self._clients.items():
            tools = asyncio.run(client.load_tools())
            if tools:
                usable(name, len(tools))

    async def list_again(self, server: str) -> int:
        return len(await asyncio.to_thread(self._clients[server].list_tools_sync))

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        result = await self._clients[server].call_tool_async("1", tool, arguments)
        return result["content"][0]["text"]

    async def close(self) -> None:
        for client in self._clients.values():
            await asyncio.to_thread(client.stop, None, None, None)
