"""Calls of tools as a workflow that the canvas opens: what a person keeps of an agent's run."""
