"""Conversion of xai-agent's workflows to the nodes of this library."""
