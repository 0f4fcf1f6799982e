"""The event graph drawn as a page for a browser."""
