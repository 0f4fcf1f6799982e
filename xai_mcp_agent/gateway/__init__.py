"""The gateway: everything that an agent can use, served to other programs as one MCP server."""
