"""Agents of others as sources: found by their card, one tool for each of their skills."""
