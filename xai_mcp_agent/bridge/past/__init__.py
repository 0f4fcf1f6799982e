"""What people see of the history: questions about it, and the answers as text and plain values."""
