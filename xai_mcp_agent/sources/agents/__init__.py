"""Remote agents as sources: found by their cards, with a tool for each skill."""
