"""The workshop: its lessons, and the judgement of a lesson's run."""
