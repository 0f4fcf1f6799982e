"""What the log comes to: a record of every source and tool, as values and in the store."""
