"""Workflows of xai-agent, converted to the nodes of this library."""
