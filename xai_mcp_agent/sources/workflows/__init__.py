"""Workflows as tools: compiled and run in processes of their own."""
