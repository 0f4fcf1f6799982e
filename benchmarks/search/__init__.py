"""How well and how fast tools are found, and what they cost in a request: `make bench-search`."""
