"""A gateway over stdin and stdout, with the settings of its folder: `python stdio_gateway.py`."""

from __future__ import annotations

from xai_mcp_agent import Bridge
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.gateway.server import Gateway
from xai_mcp_agent.gateway.stdio import stdio_streams


async def serve(operations: Operations) -> None:
    """Serve until stdin is closed."""
    async with Gateway(operations) as gateway, stdio_streams() as (read, write):
        await gateway.serve(read, write)


if __name__ == "__main__":
    with Bridge() as bridge:
        bridge.run(serve)
