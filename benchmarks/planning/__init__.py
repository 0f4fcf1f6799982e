"""How good plans without a model are, and how fast they come: `make bench-planning`."""
