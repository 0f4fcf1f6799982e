"""The REST interface of a bridge, its page, and how the lab forwards to it."""
