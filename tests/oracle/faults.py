"""What each fault of the suite comes to: the whole error, which the suite checks by a pattern.

The suite runs all faults anyway, so it is `tests/faults/test_faults.py` that compares this table.
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
        with TemporaryDirectory() as own:  # as in the suite: it stands in some sentences
            rows |= {x: row_of(y) for x, y in run_faults(faults, Path(own)).reports.items()}
    return rows


def row_of(report: Report) -> dict[str, Any]:
    """The steps of one fault, and what the status says of it in the end."""
    steps = {name: _facts(x) for name, x in report.steps.items() if name != "close"}
    notes = {"status_notes": stable(report.status_notes)} if report.status_notes else {}
    return {**steps, **notes}


def _facts(step: Step) -> Any:
    if step.error is not None:
        return stable(error_facts(step.error))
    notes = {"notes": stable(step.notes)} if step.notes else {}
    return {"text": stable(step.text[:_MAX_CHARS]), **notes} if step.text or notes else "ready"
