"""Records the tables again: `python -m tests.oracle [--only NAME]`."""

from __future__ import annotations

import argparse
import os

from tests.support.warm_python import warm_interpreter

from . import tables
from .recorders import RECORDERS, current_rows


def main() -> None:
    """Record the tables, and print the differences."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--only", choices=sorted(RECORDERS), help="record only this table")
    parser.add_argument("--check", action="store_true", help="write nothing, show differences")
    options = parser.parse_args()
    os.environ["XAI_MCP_TRUST"] = "1"
    with warm_interpreter():
        for name in [options.only] if options.only else RECORDERS:
            rows = current_rows(name)
            print(tables.differences(tables.read(name), rows) or f"{name}: the same")
            if not options.check:
                tables.write(name, rows)


main()
