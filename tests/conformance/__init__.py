"""The public conformance suite of MCP, run against the bridge."""
