"""The event graph: as a value, as a flowchart, and drawn as a page for a browser."""
