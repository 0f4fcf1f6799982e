"""Models for the agent loop, each behind one small class."""
