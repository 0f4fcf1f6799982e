"""`xai-mcp-agent plan run`: its messages and exit statuses; it prints no secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Cli, write_settings
from tests.support.processes import lines_in
from tests.support.shredder_server import shredder_entry

SECRET = "a-very-secret-token-1234"
TIDY = {
    "request": "Tidy up.",
    "calls": [
        {"tool": "shredder/file_away", "args": {"paper": "the deed"}},
        {"tool": "shredder/file_away", "args": {"paper": {"missing": "Which one, too?"}}},
        {"tool": "shredder/count", "args": {}},
    ],
}
SHRED = {"calls": [{"tool": "shred", "args": {"paper": f"the will {SECRET}"}}]}
RUN_SHRED = "plan run plan.json --source shredder --state shred.run.json"


@pytest.fixture(autouse=True)
def project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose only server has destructive tools and keeps a journal."""
    entry = {**shredder_entry(folder / "journal"), "env": {"ACME_TOKEN": SECRET}}
    write_settings(folder, {"shredder": entry})
    monkeypatch.setenv("CI", "true")
    write(TIDY)
    return folder


def write(plan: Any) -> None:
    Path("plan.json").write_text(json.dumps(plan), encoding="utf-8")


def test_a_run_shows_each_call_and_prints_the_last_result(cli: Cli):
    status, out, err = cli("plan run plan.json --give '2.paper=the diary'")
    assert (status, out.strip()) == (0, "0")
    lines = [x.partition(" in ")[0] for x in err.splitlines()]
    names = ("file_away", "file_away", "count")
    assert lines == [f"{n}/3 shredder/{x}: done" for n, x in enumerate(names, 1)]


def test_a_run_stops_at_a_missing_value_and_continues_once_it_is_given(project: Path, cli: Cli):
    line = "plan run plan.json --state tidy.run.json"
    cli(line).fails(
        "missing: 1 of 3 calls were made.",
        "`paper` is missing: Which one, too? Give `2.paper`", status=3,
    )  # fmt: skip
    missing = {"call": 2, "parameter": "paper", "reason": "Which one, too?"}
    assert cli(f"{line} --json").shows(status=3).json["missing"] == [missing]
    ran = cli(line, "--give", '2.paper="the diary"', "--json").shows()
    assert ran.json["results"][-1] == {"result": 0}
    assert lines_in(project / "journal") == ["filed the deed", "filed the diary"]
    cli("plan run plan.json --give 2.paper").fails(status=2)
    cli("plan run nothing.json").fails("nothing.json cannot be read")
    cli("plan run plan.json --give 9.paper=1").fails("no place for '9.paper'")


def test_a_call_waits_until_plan_approve_allows_it(project: Path, cli: Cli):
    write(SHRED)
    says = ("waiting: 0 of 1 calls were made.", "xai-mcp-agent plan approve")
    waits = cli(RUN_SHRED).fails(*says, status=3)
    assert lines_in(project / "journal") == []
    listing = cli("plan approve shred.run.json")
    listing.shows("1. plan wants to call shred of shredder: waits for an answer")
    cli("plan approve shred.run.json --all").shows("Run the plan again: it continues.")
    finished, again = cli(RUN_SHRED).shows(), cli(RUN_SHRED).shows()
    assert lines_in(project / "journal") == [f"shredded the will {SECRET}"]
    assert not [x for x in (waits, listing, finished, again) if SECRET in x.text]
