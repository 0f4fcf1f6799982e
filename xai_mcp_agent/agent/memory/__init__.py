"""Long-term notes of an agent: their storage, and their search."""
