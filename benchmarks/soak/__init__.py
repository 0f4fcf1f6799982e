"""A long run of agents and servers while everything breaks: `python -m benchmarks.soak --help`."""
