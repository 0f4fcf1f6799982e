"""Differences between two definitions of a tool, and between two points in the history."""
