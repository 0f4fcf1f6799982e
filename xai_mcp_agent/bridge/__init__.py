"""The bridge: an event loop with the engine on it, and the faces for callers in other threads."""
