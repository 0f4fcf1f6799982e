"""What people decide about tools: honoured in this process, and kept in the history."""
