"""Run the benchmarks named on the command line, or all, and print a line for each figure.

With `--page`, all are run and those with a target are written into `docs/measured.md`.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from . import page
from .measuring import name_among
from .rows import Row

NAMES = (
    "calls",
    "turn",
    "ready",
    "imports",
    "first_call",
    "warm",
    "attach",
    "gateway",
    "screen",
    "history",
    "rules",
)


def main() -> int:
    """Print the figures as they come; 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    about = f"any of: {', '.join(NAMES)}"
    parser.add_argument("names", nargs="*", metavar="NAME", type=name_among(NAMES), help=about)
    parser.add_argument("--page", action="store_true", help="run all, and write them into the page")
    options = parser.parse_args()
    rows: list[Row] = []
    for name in NAMES if options.page else options.names or NAMES:
        for row in import_module(f".{name}", __package__).rows():
            print(row.line, flush=True)
            rows.append(row)
    if options.page:
        cells = (x.cells for x in rows if x.target is not None)
        table = page.table(("what", "measured", "target"), cells)
        page.write("make bench", f"{page.machine()}\n\n{table}")
    return 1 if any(row.is_missed for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
