"""Costs of the library, as ratios measured in one run: `python -m benchmarks [NAME...]`."""

import os
import sys

# An installed library is compiled, so ours has to be; some machines forbid it for a checkout.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
