"""The workshop: its lessons, and how a run of one is judged."""
