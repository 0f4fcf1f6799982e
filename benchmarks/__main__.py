"""Run the benchmarks named on the command line, or all, and print a line for each figure.

With `--page`, all are run and those with a target are written into `docs/measured.md`.
"""

from __future__ import annotations

import sys
from importlib import import_module

from . import page
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
_COMMAND = "make bench"


def main(wanted: list[str]) -> int:
    """Print the figures as they come; 1 if a target was missed."""
    for_the_page = wanted == ["--page"]
    names = NAMES if for_the_page or not wanted else tuple(wanted)
    for name in names:
        if name not in NAMES:
            print(f"No benchmark {name!r}. There are: {', '.join(NAMES)}.", file=sys.stderr)
            return 2
    found: list[Row] = []
    for name in names:
        for row in import_module(f".{name}", __package__).rows():
            print(row.line, flush=True)
            found.append(row)
    if for_the_page:
        page.write(_COMMAND, f"{page.machine()}\n\n{_table(found)}")
        print(f"Written to {page.PAGE}.")
    return 1 if any(row.is_missed for row in found) else 0


def _table(rows: list[Row]) -> str:
    lines = ["| what | measured | target |", "| --- | --- | --- |"]
    return "\n".join([*lines, *(row.markdown for row in rows if row.target is not None)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
