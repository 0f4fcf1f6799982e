"""What the runner of the conformance suite makes of results. The scenarios are not run here."""

from __future__ import annotations

from typing import Any

import pytest

from . import report
from .driver import sample
from .server_half import listed
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


def test_a_failure_says_what_failed_and_the_driver_s_last_words():
    checks = [check("FAILURE", errorMessage="no header")]
    outcome = judged(ECHO, checks, 1, 1.0, "Traceback\n  frames\nServerError: gone\n")
    assert "some-check: no header" in report.line(outcome)
    assert "ServerError: gone" in report.line(outcome)


def test_a_run_is_good_when_all_that_is_scored_passed():
    passed, skipped = Outcome(ECHO, "passed", 2), Outcome(ECHO, "skipped")
    assert report.is_good([passed, Outcome(EXTRA, "failed")])
    assert not report.is_good([passed, skipped]), "a skipped one was not shown to work"


def test_the_tables_count_each_set_and_name_what_did_not_pass():
    outcomes = [Outcome(ECHO, "passed", 2), Outcome(ECHO, "failed"), Outcome(EXTRA, "skipped")]
    text = report.tables(outcomes, "2.3.0")
    assert "2 checks passed" in text
    assert f"| 1 of 2, {ECHO.name} failed |" in text
    assert "| 0 of 1 (1 skipped) |" in text


def test_scenarios_for_servers_are_of_the_kind_that_the_suite_lists_them_under():
    listing = """Required for 2025-11-25 (2 scenarios, frozen; run at the 2025-11-25 wire):

Server scenarios (test against a server):
  - ping

Client scenarios (test against a client):
  - initialize

Run and reported, but never scored:
  added-after-release (2):
    - server-session-lifecycle [server]
    - json-schema-2020-12-preservation [client]
  pending (1):
    - server-sse-polling [server]
"""
    found = {x.name: (x.kind, x.is_scored) for x in listed("2025-11-25", listing)}
    assert found == {
        "ping": ("required", True),
        "server-session-lifecycle": ("later", True),
        "server-sse-polling": ("pending", False),
    }


def test_arguments_are_made_from_the_schema():
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "mode": {"enum": ["fast", "slow"]},
            "deep": {"type": "object", "properties": {"on": {"type": "boolean"}}},
            "name": {"type": "string", "default": "Al"},
        },
    }
    assert sample(schema) == {"a": 5, "mode": "fast", "deep": {"on": True}, "name": "Al"}
