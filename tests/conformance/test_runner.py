"""What the runner of the conformance suite makes of results. The scenarios are not run here."""

from __future__ import annotations

from typing import Any

import pytest

from . import report
from .suite import Outcome, Scenario, judged

ECHO = Scenario("tools_call", "2026-07-28", "required")
EXTRA = Scenario("auth/dpop", "", "extension")


def check(status: str, **more: str) -> dict[str, Any]:
    return {"id": "some-check", "status": status, "description": "It does.", **more}


@pytest.mark.parametrize(
    ("checks", "code", "verdict"),
    [
        ([check("SUCCESS"), check("INFO")], 0, "passed"),
        ([check("SUCCESS"), check("FAILURE")], 1, "failed"),
        ([check("SUCCESS"), check("FAILURE")], 0, "failed"),
        ([check("SUCCESS")], 1, "failed"),
        ([check("SKIPPED"), check("INFO")], 0, "skipped"),
        ([], 0, "skipped"),
        ([], 1, "skipped"),
    ],
)
def test_only_what_was_checked_can_pass(checks: list[dict[str, Any]], code: int, verdict: str):
    """The suite ends well where it checked nothing at all; that is no pass."""
    assert judged(ECHO, checks, code, 1.0, "").verdict == verdict


def test_a_run_is_good_when_all_that_is_scored_passed():
    passed, skipped = Outcome(ECHO, "passed", 2), Outcome(ECHO, "skipped")
    assert report.is_good([passed, Outcome(EXTRA, "failed")])
    assert not report.is_good([passed, skipped]), "a skipped one was not shown to work"
