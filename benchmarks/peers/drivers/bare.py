"""The SDK's own client with nothing around it: `mcp.Client`, or `ClientSession` of the SDK 1.x.

In every environment, the calls of the client there are compared with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Any

from anyio.from_thread import start_blocking_portal
from mcp import StdioServerParameters

from .base import START_SECONDS, Driver, Entry, Owners, Usable, check_echo

_IS_NEW = int(version("mcp").partition(".")[0]) >= 2


class Bare(Driver):
    """Connects all servers at once, each in its own task and with a limit for its start."""

    def __init__(self) -> None:
        self._clients: dict[str, Any] = {}
        self._owners = Owners()

    async def connect(self, servers: Mapping[str, Entry], usable: Usable) -> dict[str, str]:
        errors: dict[str, str] = {}

        async def start(name: str) -> None:
            try:
                await self._owners.start(
                    lambda ready: self._own(name, servers[name], usable, ready)
                )
            except RuntimeError as error:
                errors[name] = str(error)

        await asyncio.gather(*(start(name) for name in servers))
        return errors

    async def _own(
        self, name: str, entry: Entry, usable: Usable, ready: Callable[[], None]
    ) -> None:
        async with asyncio.timeout(START_SECONDS) as limit, _client(entry) as client:
            self._clients[name] = client
            usable(name, len((await client.list_tools()).tools))
            limit.reschedule(None)
            ready()
            await self._owners.stay()

    async def list_again(self, server: str) -> int:
        return len((await self._clients[server].list_tools()).tools)

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        return (await self._clients[server].call_tool(tool, arguments)).content[0].text

    async def close(self) -> None:
        await self._owners.end()


class BehindAPortal(Driver):
    """Called from a plain thread through anyio's portal, as in a synchronous program."""

    def __init__(self) -> None:
        self._context = start_blocking_portal()
        self._portal = self._context.__enter__()
        self._bare = Bare()

    async def connect(self, servers: Mapping[str, Entry], usable: Usable) -> dict[str, str]:
        return await asyncio.to_thread(self._portal.call, self._bare.connect, servers, usable)

    async def calls(self, server: str, count: int, in_flight: int) -> None:
        await asyncio.to_thread(self._calls, server, count, in_flight)

    def _calls(self, server: str, count: int, in_flight: int) -> None:
        call = (self._bare.call, server, "echo", {"text": "hello"})
        for _ in range(count // in_flight):
            if in_flight == 1:
                check_echo([self._portal.call(*call)])
            else:
                futures = [self._portal.start_task_soon(*call) for _ in range(in_flight)]
                check_echo([x.result() for x in futures])

    async def close(self) -> None:
        await asyncio.to_thread(self._portal.call, self._bare.close)
        await asyncio.to_thread(self._context.__exit__, None, None, None)


@asynccontextmanager
async def _client(entry: Entry) -> AsyncIterator[Any]:
    url = entry.get("url")
    target = url or StdioServerParameters(command=entry["command"], args=list(entry["args"]))
    async with AsyncExitStack() as stack:
        if _IS_NEW:
            from mcp import Client

            yield await stack.enter_async_context(Client(target))
            return
        from mcp import ClientSession
        from mcp.client.stdio import stdio_client
        from mcp.client.streamable_http import streamablehttp_client

        transport = streamablehttp_client(url) if url else stdio_client(target)
        read, write, *_ = await stack.enter_async_context(transport)
        session = await stack.enter_async_context(ClientSession(read, write))
        await session.initialize()
        yield session
