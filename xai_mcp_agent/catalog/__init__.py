"""The tools that exist now, and which of them an agent may use."""
