"""fastmcp: one `Client` over a config of all servers, which it puts behind a router of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from fastmcp import Client

from .base import CALL_SECONDS, START_SECONDS, Driver, Entry, Usable


class Peer(Driver):
    """Keeps its sessions. A config of one server is connected without the router."""

    async def connect(self, servers: Mapping[str, Entry], usable: Usable) -> dict[str, str]:
        self._is_alone = len(servers) == 1
        limit = CALL_SECONDS if self._is_alone else START_SECONDS
        config = {"mcpServers": {name: dict(x) for name, x in servers.items()}}
        self._client: Client[Any] = Client(config, timeout=limit)
        await self._client.__aenter__()
        tools = await self._client.list_tools()
        counts = Counter(self._server_of(x.name, servers) for x in tools)
        for name, count in counts.items():
            usable(name, count)
        return {}

    def _server_of(self, tool: str, servers: Mapping[str, Entry]) -> str:
        """Return the name of a tool: the router puts the server's name in front."""
        return next(x for x in servers if self._is_alone or tool.startswith(f"{x}_"))

    async def list_again(self, server: str) -> int:
        return len(await self._client.list_tools())

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        name = tool if self._is_alone else f"{server}_{tool}"
        return (await self._client.call_tool(name, arguments)).content[0].text

    async def close(self) -> None:
        await self._client.close()
