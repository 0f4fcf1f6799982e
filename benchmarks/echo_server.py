"""An MCP server with two tools that return their text: `python echo_server.py [PORT]`."""

from __future__ import annotations

import sys

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("echo", log_level="CRITICAL")


@server.tool()
async def echo(text: str) -> str:
    """Gives back the text."""
    return text


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def read(text: str) -> str:
    """Gives back the text, and says that it changes nothing."""
    return text


if __name__ == "__main__":
    if sys.argv[1:]:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
