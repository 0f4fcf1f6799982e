"""Rules of people for tools: what a call has to do with them, and what the strongest says."""
