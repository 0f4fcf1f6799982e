"""Quality and speed of plans without a model: `make bench-planning`."""
