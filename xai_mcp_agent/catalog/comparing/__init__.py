"""What is different between two definitions of a tool, and between two points of the history."""
