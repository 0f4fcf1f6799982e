"""How each client is driven: one file for each, run in that client's own environment."""
