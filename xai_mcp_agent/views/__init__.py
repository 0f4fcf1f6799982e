"""Public values as JSON and as text, each once."""
