"""MCP servers as sources of tools over stdio, Streamable HTTP and legacy SSE, in both eras."""
