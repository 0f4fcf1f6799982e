"""Our bridge, called in each of the three ways."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from xai_mcp_agent import Bridge
from xai_mcp_agent.bridge.operations import Operations

from .base import START_SECONDS, Driver, Entry, Usable, check_echo, waves


class InAnAgent(Driver):
    """The bridge as an agent uses it: calls are made on the bridge's own loop."""

    async def connect(self, servers: Mapping[str, Entry], usable: Usable) -> dict[str, str]:
        entries = {name: {**x, "startTimeout": START_SECONDS} for name, x in servers.items()}
        self._bridge = Bridge({"mcpServers": entries})
        errors: dict[str, str] = {}

        async def on_its_loop(operations: Operations) -> None:
            async def list_tools(name: str) -> None:
                try:
                    usable(name, len(await operations.list_tools(name)))
                except Exception as error:  # noqa: BLE001 - any error is a result here
                    errors[name] = str(error)

            await operations.start(*servers)
            await asyncio.gather(*(list_tools(name) for name in servers))

        await asyncio.wrap_future(self._bridge.submit(on_its_loop))
        return errors

    async def list_again(self, server: str) -> int:
        (listing,) = await self._bridge.aio.refresh(server)
        return len(listing.require())

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        return (await self._bridge.aio.call_tool(server, tool, arguments)).text

    async def calls(self, server: str, count: int, in_flight: int) -> None:
        async def on_its_loop(operations: Operations) -> None:
            async def call() -> str:
                return (await operations.call_tool(server, "echo", {"text": "hello"})).text

            await waves(call, count, in_flight)

        await asyncio.wrap_future(self._bridge.submit(on_its_loop))

    async def close(self) -> None:
        await asyncio.to_thread(self._bridge.close)


class FromALoop(InAnAgent):
    """From a caller's own event loop: `bridge.aio`."""

    async def calls(self, server: str, count: int, in_flight: int) -> None:
        await Driver.calls(self, server, count, in_flight)


class FromAThread(InAnAgent):
    """From a plain thread, as nodes do: `Bridge.call_tool`; several at a time are submitted."""

    async def calls(self, server: str, count: int, in_flight: int) -> None:
        await asyncio.to_thread(self._calls, server, count, in_flight)

    def _calls(self, server: str, count: int, in_flight: int) -> None:
        call = (server, "echo", {"text": "hello"})
        for _ in range(count // in_flight):
            if in_flight == 1:
                check_echo([self._bridge.call_tool(*call).text])
            else:
                submit = self._bridge.submit
                futures = [submit(Operations.call_tool, *call) for _ in range(in_flight)]
                check_echo([x.result().text for x in futures])
