"""Stands in for libraries that wait for messages and times."""
