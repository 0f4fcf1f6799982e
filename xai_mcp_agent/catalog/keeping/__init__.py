"""How what happens gets into the history: reported, written down by one thread, kept."""
