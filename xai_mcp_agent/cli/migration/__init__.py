"""Workflows made with XpressAI's xai-agent, rewritten for the nodes of this library."""
