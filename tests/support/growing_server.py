"""A real MCP server whose tools change while it runs."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations

from tests.support.warm_python import python_entry

server = MCPServer("growing", instructions="Ask grow for more tools.", log_level="CRITICAL")


@server.tool()
async def grow(name: str, ctx: Context, description: str = "", destructive: bool = False) -> str:
    """Add a tool of this name, which says its name, in place of one that is there."""
    if any(x.name == name for x in await server.list_tools()):
        server.remove_tool(name)
    server.add_tool(
        lambda: f"I am {name}.",
        name=name,
        description=description or f"Says {name}.",
        annotations=ToolAnnotations(destructive_hint=True) if destructive else None,
    )
    await _tell(ctx)
    return f"Added {name}."


@server.tool()
async def shrink(name: str, ctx: Context) -> str:
    """Take a tool away."""
    server.remove_tool(name)
    await _tell(ctx)
    return f"Removed {name}."


def growing_entry(**more: Any) -> dict[str, Any]:
    """Return its entry in a settings file."""
    return python_entry(__file__, **more)


async def _tell(ctx: Context) -> None:
    await ctx.notify_tools_changed()  # to 2026-07-28 listeners
    await ctx.session.send_tool_list_changed()  # to handshake-era clients


if __name__ == "__main__":
    server.run()
