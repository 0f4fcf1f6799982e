"""langchain-mcp-adapters: one open session, or all servers at once with a session for each use.

It keeps a session only where the caller holds one for a single server, and starts several servers
in parallel only without keeping them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

from .base import Driver, Entry, Usable


class Peer(Driver):
    """`client.session` with one server, `client.get_tools` with several."""

    async def connect(self, servers: Mapping[str, Entry], usable: Usable) -> dict[str, str]:
        self._client = MultiServerMCPClient(
            {name: _connection(x) for name, x in servers.items()}, tool_name_prefix=True
        )
        self._stack = AsyncExitStack()
        if len(servers) == 1:
            (name,) = servers
            self._session = await self._stack.enter_async_context(self._client.session(name))
            tools = await load_mcp_tools(self._session, server_name=name, tool_name_prefix=True)
        else:
            tools = await self._client.get_tools()
        self._tools = {x.name: x for x in tools}
        for name in servers:
            usable(name, sum(x.startswith(f"{name}_") for x in self._tools))
        return {}

    async def list_again(self, server: str) -> int:
        return len(await load_mcp_tools(self._session))

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        return (await self._tools[f"{server}_{tool}"].ainvoke(arguments))[0]["text"]

    async def close(self) -> None:
        await self._stack.aclose()


def _connection(entry: Entry) -> dict[str, Any]:
    if "url" in entry:
        return {"transport": "http", "url": entry["url"]}
    return {"transport": "stdio", "command": entry["command"], "args": list(entry["args"])}
