"""Each fault costs only itself: no wait beyond its limits, our errors only, nothing left behind."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.oracle import tables
from tests.oracle.faults import row_of
from xai_mcp_agent import SourceError

from .catalogue import FAULTS, GROUPS, group_of
from .driver import Report, Run, Step, run_faults
from .fault import LAST_WORDS, Expected, Fails

_MAX_STALL_SECONDS = 0.5  # of computing: the machine's other work does not count
# Of all threads together, many of which are the tests' own.
_MAX_HOLD_SECONDS = 1.0


# The first test of a group waits for its whole run, perhaps on a busy machine.
pytestmark = pytest.mark.timeout(300)


@cache
def run_of(group: str) -> Run:
    """The faults of a group are run together, once."""
    with TemporaryDirectory() as folder:
        return run_faults(GROUPS[group], Path(folder))


def report_of(name: str) -> Report:
    """What came of this fault."""
    return run_of(group_of(name)).reports[name]


@pytest.mark.parametrize("name", FAULTS)
def test_every_step_ends_as_it_should_within_its_limit_and_no_process_is_left(name: str):
    """Children of children neither."""
    report = report_of(name)
    assert report.left == ()
    fault = report.fault
    check(report.steps["connect"], fault.connect, name)
    if fault.call is not None:
        check(report.steps["call"], fault.call.expected, name)
    check(report.steps["again"], fault.again.expected, name)
    if fault.last is not None:
        check(report.steps["last"], fault.last.expected, name)
    assert report.steps["close"].error is None
    for step in report.steps.values():
        assert step.is_in_time, step
    assert re.search(fault.status_notes, "\n".join(report.status_notes))


def check(step: Step, expected: Expected, server: str) -> None:
    """It did what was expected; an error is one of ours, and complete."""
    if not isinstance(expected, Fails):
        assert step.error is None, step.error
        assert re.search(expected.text, step.text), step.text[:200]
        assert re.search(expected.notes, "\n".join(step.notes)), step.notes
        return
    assert isinstance(step.error, expected.kind), f"{step.error!r} {step.text[:200]}"
    said = str(step.error)
    assert re.search(expected.words, said), said
    if isinstance(step.error, SourceError):
        assert said.startswith(f"{server}: "), said
        assert step.error.next_step, said
        assert (LAST_WORDS in said) == expected.speaks, said


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_reported_of_it_is_as_recorded(name: str):
    """If a difference is meant, record it: `python -m tests.oracle --only faults`."""
    different = tables.differences(tables.read("faults")[name], row_of(report_of(name)))
    assert not different, f"\n{different}"


@pytest.mark.parametrize("group", GROUPS)
def test_the_others_notice_nothing_and_files_and_threads_are_given_back(group: str):
    run = run_of(group)
    assert run.left_behind == ()
    assert run.healthy_errors == ()
    assert run.healthy_calls > 0
    assert run.longest_stall_seconds < _MAX_STALL_SECONDS
    assert run.longest_hold_seconds < _MAX_HOLD_SECONDS
