"""Stands in for a library that shows a chat in the browser."""
