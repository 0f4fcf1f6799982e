"""What is asked of the history, by people and by the bridge."""
