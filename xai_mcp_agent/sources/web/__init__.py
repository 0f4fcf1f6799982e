"""Helpers for every kind of source that is reached over HTTP."""
