"""What tools exist now, and which of them an agent may use."""
