"""What the library costs, as ratios measured in one run: `python -m benchmarks [NAME...]`."""
