"""Quality, speed and token costs of the tool search: `make bench-search`."""
