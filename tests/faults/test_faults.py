"""Each fault stays isolated: no wait beyond its limits, only our errors, nothing left behind."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.oracle import tables
from tests.oracle.faults import row_of

from .catalogue import FAULTS, GROUPS, group_of
from .driver import Run, run_faults

_MAX_STALL_SECONDS = 0.5  # of computing: the machine's other work does not count
# Of all threads together, many of which are the tests' own.
_MAX_HOLD_SECONDS = 1.0


# The first test of a group waits for its whole run, perhaps on a busy machine.
pytestmark = pytest.mark.timeout(300)


@cache
def run_of(group: str) -> Run:
    """Run the faults of a group together, once."""
    with TemporaryDirectory() as folder:
        return run_faults(GROUPS[group], Path(folder))


@pytest.mark.parametrize("name", FAULTS)
def test_each_step_ends_as_recorded_within_its_limit_and_no_process_survives(name: str):
    """Descendants do not survive either. Record an intended difference with
    `python -m tests.oracle --only faults`.
    """
    report = run_of(group_of(name)).reports[name]
    different = tables.differences(tables.read("faults")[name], row_of(report))
    assert not different, f"\n{different}"
    assert report.steps["close"].error is None
    assert [x for x in report.steps.values() if not x.is_in_time] == []
    assert report.survivors == ()


@pytest.mark.parametrize("group", GROUPS)
def test_other_calls_are_not_disturbed_and_files_and_threads_are_released(group: str):
    run = run_of(group)
    assert run.leftovers == ()
    assert run.healthy_errors == ()
    assert run.healthy_calls > 0
    assert run.longest_stall_seconds < _MAX_STALL_SECONDS
    assert run.longest_hold_seconds < _MAX_HOLD_SECONDS
