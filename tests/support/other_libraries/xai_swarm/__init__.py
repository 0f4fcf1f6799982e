"""Stands in for another library of agents that uses the same words."""
