"""The models an agent can talk to, each behind one small class."""
