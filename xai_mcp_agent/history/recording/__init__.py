"""Recording: reports are queued, and one writer thread turns them into events."""
