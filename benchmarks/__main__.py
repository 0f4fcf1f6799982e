"""Run the benchmarks named on the command line, or all, and print a line for each figure."""

from __future__ import annotations

import sys
from importlib import import_module

NAMES = ("calls", "ready", "imports", "first_call", "screen")


def main(wanted: list[str]) -> int:
    """Print the figures as they come; 1 if a target was missed."""
    missed = 0
    for name in wanted or NAMES:
        if name not in NAMES:
            print(f"No benchmark {name!r}. There are: {', '.join(NAMES)}.", file=sys.stderr)
            return 2
        for row in import_module(f".{name}", __package__).rows():
            print(row.line, flush=True)
            missed += row.target is not None and row.value > row.target
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
