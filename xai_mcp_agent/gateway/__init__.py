"""The gateway: serves everything an agent can use to other programs, as one MCP server."""
