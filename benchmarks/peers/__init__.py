"""The bridge against other MCP clients, measured in one run: `make bench-peers`."""
