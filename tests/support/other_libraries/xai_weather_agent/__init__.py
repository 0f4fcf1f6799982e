"""Stands in for a library that brought copies of the nodes of others."""
