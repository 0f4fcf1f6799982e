"""mcp-use: one `MCPClient` with a session for each server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_use import MCPClient

from .base import Driver, Entry, Usable


class Peer(Driver):
    """Keeps its sessions; `create_all_sessions` starts them."""

    async def connect(self, servers: Mapping[str, Entry], usable: Usable) -> dict[str, str]:
        config = {"mcpServers": {name: dict(x) for name, x in servers.items()}}
        self._client = MCPClient.from_dict(config)
        self._sessions = await self._client.create_all_sessions()
        for name, session in self._sessions.items():
            usable(name, len(await session.list_tools()))
        return {}

    async def list_again(self, server: str) -> int:
        return len(await self._sessions[server].list_tools())

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        return (await self._sessions[server].call_tool(tool, arguments)).content[0].text

    async def close(self) -> None:
        await self._client.close_all_sessions()
