"""Servers behind a URL: Streamable HTTP, and the older HTTP+SSE."""
