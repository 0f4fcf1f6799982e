"""Lessons of the workshop: their goals, and what a run in one of them comes to."""
