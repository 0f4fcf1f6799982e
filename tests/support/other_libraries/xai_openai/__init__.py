"""Stands in for XpressAI's xai-openai: the one node that xai-agent's example uses."""
