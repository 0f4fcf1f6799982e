"""A gateway over real servers, and the SDK's client in front of it, on the bridge's loop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import Client
from mcp.shared.memory import create_client_server_memory_streams

from xai_mcp_agent import Bridge
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.gateway.endpoint import Options
from xai_mcp_agent.gateway.server import Gateway

ERAS = ("legacy", "auto")

Connect = Callable[..., Any]
"""Connects a client: `async with connect(**what the SDK's Client takes) as client`."""


async def with_gateway(
    settings: dict[str, Any],
    play: Callable[[Connect, Operations], Awaitable[None]],
    *,
    prefixed: bool = True,
    **options: Any,
) -> None:
    """Play with clients of a gateway with these settings."""
    import jsonschema.validators  # noqa: F401 - the SDK would import it in the middle of a call

    async def serve(operations: Operations) -> None:
        async with Gateway(operations, Options(prefixed=prefixed, **options)) as gateway:

            @asynccontextmanager
            async def connect(**of_client: Any) -> AsyncGenerator[Client]:
                async with (
                    create_client_server_memory_streams() as (ours, its),
                    anyio.create_task_group() as tasks,
                ):
                    tasks.start_soon(gateway.serve, *its)

                    @asynccontextmanager
                    async def transport() -> AsyncGenerator[Any]:
                        yield ours

                    async with Client(transport(), **of_client) as client:
                        yield client
                    tasks.cancel_scope.cancel()

            with anyio.fail_after(100):
                await operations.wait_for(*(x for x in settings["mcpServers"] if x != "deaf"))
                if "deaf" not in settings["mcpServers"]:
                    await gateway.service().endpoint.connected.wait()
                await play(connect, operations)

    with Bridge(settings, store="memory") as bridge:
        await bridge.aio.run(serve)


def text_of(result: Any) -> str:
    """Return all text of a result."""
    return "\n".join(x.text for x in result.content if x.type == "text")
