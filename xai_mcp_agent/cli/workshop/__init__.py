"""The workshop: its lessons, what learners made of them, and the commands for both."""
