"""Costs of the library, as ratios measured in one run: `python -m benchmarks [NAME...]`."""
