"""The component files of xai_mcp_agent, where Xircuits looks for them. The engine is elsewhere."""
