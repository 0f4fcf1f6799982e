"""How the runner reads the results of the suite. The scenarios are not run here."""

from __future__ import annotations

import pytest

from .suite import read

SUMMARY = """
=== SUITE SUMMARY ===

✓ tools_call: 2 passed, 0 failed
%s
✗ auth/dpop: 10 passed, 3 failed

Not scored for 2026-07-28: 1 scenario(s) run, 1 failing. These do not affect conformance.
  ✗ auth/dpop (extension)
"""


@pytest.mark.parametrize(
    ("line", "is_good"),
    [
        ("✓ ping: 1 passed, 0 failed", True),
        ("✗ ping: 1 passed, 1 failed", False),
        ("✗ ping: 1 passed, 0 failed, 1 warnings", False),
        ("✓ ping: 0 passed, 0 failed", False),
        ("- ping: skipped", False),
    ],
)
def test_a_run_is_good_when_all_that_is_scored_was_checked_and_passed(line: str, is_good: bool):
    """The suite counts a scenario that checked nothing as passed."""
    run = read("client", "2026-07-28", SUMMARY % line)
    assert (run.is_good, run.missed) == (is_good, [] if is_good else ["ping"])
    assert run.unscored == {"auth/dpop": False}
