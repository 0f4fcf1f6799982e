"""Writes the table of faults in docs/measured.md: `python -m tools.build_reliability`.

It provokes every fault of the catalogue (tests/faults) and counts how each kind ended. Takes a
minute. The exact words of each fault are in tests/oracle/tables/faults.json.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import page
from tests.faults.catalogue import GROUPS
from tests.faults.driver import Report, Run, run_faults

COMMAND = "python -m tools.build_reliability"

_HEAD = "kind of fault", "faults", "it connects", "the call works", "the next call works"


def table(runs: dict[str, Run]) -> str:
    """Return a row for each kind of fault, and a note on the healthy server."""
    rows = [_row(kind, list(run.reports.values())) for kind, run in runs.items()]
    faults = sum(len(run.reports) for run in runs.values())
    stall = max(run.longest_stall_seconds for run in runs.values())
    calls = sum(run.healthy_calls for run in runs.values())
    note = (
        f"{faults} faults. The healthy server answered {calls:,} calls meanwhile; no step of the "
        f"bridge's loop computed for longer than {stall:.2f} s."
    )
    return f"{page.table(_HEAD, rows)}\n\n{note}"


def _row(kind: str, reports: list[Report]) -> list[object]:
    return [kind, len(reports), *(_working(reports, x) for x in ("connect", "call", "again"))]


def _working(reports: list[Report], step: str) -> str:
    steps = [report.steps[step] for report in reports if step in report.steps]
    return f"{sum(x.error is None for x in steps)} of {len(steps)}" if steps else "-"


def _runs() -> dict[str, Run]:
    runs: dict[str, Run] = {}
    for kind, faults in GROUPS.items():
        with TemporaryDirectory() as folder:
            runs[kind] = run_faults(faults, Path(folder))
    return runs


if __name__ == "__main__":
    page.write(COMMAND, table(_runs()))
