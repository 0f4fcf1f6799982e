"""Workflows of the shapes that people published, drawn anew: in our words, with our texts."""
