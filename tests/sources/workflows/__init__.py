"""Workflows as tools."""
