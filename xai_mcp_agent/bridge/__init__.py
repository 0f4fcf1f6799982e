"""Joins callers, who wait, to sources, which do not: an event loop and the engine on it."""
