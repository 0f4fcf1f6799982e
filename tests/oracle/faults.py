"""The whole error of each fault of the suite, which itself checks only a pattern.

Because the suite runs all faults anyway, `tests/faults/test_faults.py` compares this table.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.faults.catalogue import GROUPS
from tests.faults.driver import Report, Step, run_faults

from .tables import Rows, error_facts, stable

_MAX_CHARS = 200  # of a result's text


def record(_: Path) -> Rows:
    """Run all groups of faults, one after the other."""
    rows: Rows = {}
    for faults in GROUPS.values():
        with TemporaryDirectory() as own:  # as in the suite: some messages have its path
            rows |= {x: row_of(y) for x, y in run_faults(faults, Path(own)).reports.items()}
    return rows


def row_of(report: Report) -> dict[str, Any]:
    """Return the steps of one fault, and the notes of the status at the end."""
    steps = {name: _facts(x) for name, x in report.steps.items() if name != "close"}
    notes = {"status_notes": stable(report.status_notes)} if report.status_notes else {}
    return {**steps, **notes}


def _facts(step: Step) -> Any:
    if step.error is not None:
        return stable(error_facts(step.error))
    notes = {"notes": stable(step.notes)} if step.notes else {}
    return {"text": stable(step.text[:_MAX_CHARS]), **notes} if step.text or notes else "ready"
