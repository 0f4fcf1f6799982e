"""Client features of MCP: elicitation, sampling, roots, logging."""
