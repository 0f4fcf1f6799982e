"""An MCP server with one tool: `python echo_server.py [PORT]`, over stdio or HTTP."""

from __future__ import annotations

import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("echo", log_level="CRITICAL")


@server.tool()
async def echo(text: str) -> str:
    """Gives back the text."""
    return text


if __name__ == "__main__":
    if sys.argv[1:]:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
