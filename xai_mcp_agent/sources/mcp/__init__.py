"""MCP servers as a source of tools: over stdio, Streamable HTTP and legacy SSE, in both eras."""
