"""Long-term notes of an agent: where they are stored, and how they are searched."""
