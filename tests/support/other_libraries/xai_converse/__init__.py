"""Stands in for a library with which agents are talked to over a chat server."""
