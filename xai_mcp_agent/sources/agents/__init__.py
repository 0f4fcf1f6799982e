"""Remote agents as sources: described by their cards, with a tool for each skill."""
