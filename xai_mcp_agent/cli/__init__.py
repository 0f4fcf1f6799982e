"""The `xai-mcp-agent` command."""
