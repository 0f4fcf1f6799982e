"""`xai-mcp-agent plan run`: what it says, its statuses, and that it shows no secret."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_servers import command
from tests.support.shredder_server import shredder_entry
from xai_mcp_agent.drawing.rules import nodes_of

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


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose only server destroys, and writes down what it did."""
    entry = {**shredder_entry(tmp_path / "journal"), "env": {"ACME_TOKEN": SECRET}}
    settings = {"mcpServers": {"shredder": entry}}
    (tmp_path / "mcp_settings.json").write_text(json.dumps(settings), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XAI_MCP_TRUST", "1")
    monkeypatch.setenv("CI", "true")
    for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def journal(project: Path) -> Callable[[], list[str]]:
    file = project / "journal"
    return lambda: file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def write(plan: Any) -> str:
    Path("plan.json").write_text(json.dumps(plan), encoding="utf-8")
    return "plan.json"


def test_it_tells_each_call_and_ends_with_the_last_result(capsys: Any) -> None:
    give = ("--give", "2.paper=the diary")
    status, out, err = command(capsys, "plan", "run", write(TIDY), *give)
    assert (status, out.strip()) == (0, "0")
    lines = [x.partition(" in ")[0] for x in err.splitlines()]
    assert lines == [
        "1/3 shredder/file_away: done", "2/3 shredder/file_away: done", "3/3 shredder/count: done",
    ]  # fmt: skip


def test_what_is_missing_has_a_status_of_its_own_and_is_given_later(
    capsys: Any, journal: Callable[[], list[str]]
) -> None:
    words = ("plan", "run", write(TIDY), "--state", "tidy.run.json")
    status, out, err = command(capsys, *words)
    assert (status, out) == (3, "")
    assert "missing: 1 of 3 calls were made." in err
    assert "`paper` is missing: Which one, too? Give `2.paper`" in err
    status, out, _ = command(capsys, *words, "--give", '2.paper="the diary"', "--json")
    told = json.loads(out)
    assert (status, told["status"], told["results"][-1]) == (0, "finished", {"result": 0})
    assert journal() == ["filed the deed", "filed the diary"]


def test_programs_are_told_what_is_missing(capsys: Any) -> None:
    status, out, _ = command(capsys, "plan", "run", write(TIDY), "--json")
    told = json.loads(out)
    assert (status, told["status"]) == (3, "missing")
    assert told["missing"] == [{"call": 2, "parameter": "paper", "reason": "Which one, too?"}]


def test_a_call_waits_until_it_is_approved_with_the_usual_command(
    capsys: Any, journal: Callable[[], list[str]]
) -> None:
    words = ("plan", "run", write(SHRED), "--source", "shredder", "--state", "shred.run.json")
    status, out, err = command(capsys, *words)
    assert status == 3
    assert "waiting: 0 of 1 calls were made." in err
    assert "xai-mcp-agent plan approve" in err
    assert SECRET not in out + err
    assert journal() == []
    status, out, err = command(capsys, "plan", "approve", "shred.run.json")
    assert status == 0
    assert "1. plan wants to call shred of shredder: waits for an answer" in out
    assert SECRET not in out + err
    status, out, _ = command(capsys, "plan", "approve", "shred.run.json", "--all")
    assert (status, out.splitlines()[-1]) == (0, "Run the plan again: it goes on.")
    status, out, err = command(capsys, *words)
    assert status == 0
    assert SECRET not in out + err
    assert journal() == [f"shredded the will {SECRET}"]
    assert command(capsys, *words)[0] == 0
    assert len(journal()) == 1


def test_what_was_refused_fails(capsys: Any, journal: Callable[[], list[str]]) -> None:
    words = ("plan", "run", write(SHRED), "--source", "shredder", "--state", "shred.run.json")
    command(capsys, *words)
    command(capsys, "plan", "approve", "shred.run.json", "--no", "1")
    status, _, err = command(capsys, *words)
    assert status == 1
    assert "failed: 0 of 1 calls were made." in err
    assert "was not approved" in err
    assert journal() == []


def test_words_that_give_nothing_are_reported(capsys: Any) -> None:
    assert command(capsys, "plan", "run", write(TIDY), "--give", "2.paper")[0] == 2
    status, _, err = command(capsys, "plan", "run", write(TIDY), "--give", "9.paper=1")
    assert status == 1
    assert "no place for '9.paper'" in err


def test_a_plan_is_drawn_and_makes_the_same_calls(
    project: Path, capsys: Any, journal: Callable[[], list[str]]
) -> None:
    count = {"call": 0, "field": "result"}
    two = [TIDY["calls"][0], {"tool": "shredder/file_away", "args": {"paper": count}}]
    plan = write({"calls": two})
    status, out, err = command(capsys, "plan", "draw", plan)
    assert (status, err) == (0, "")
    assert "plan_drawn.xircuits, 2 calls, 1 wire" in out
    drawn = nodes_of(json.loads((project / "plan_drawn.xircuits").read_text(encoding="utf-8")))
    assert [x["name"] for x in drawn].count("MCPToolStep") == 2
    assert command(capsys, "plan", "run", plan)[0] == 0
    by_plan = journal()
    (project / "journal").unlink()
    command(capsys, "init", ".")
    for words in (["xircuits", "compile", "plan_drawn.xircuits", "drawn.py"], ["drawn.py"]):
        program = [str(Path(sys.executable).with_name(words[0]))] if len(words) > 1 else []
        subprocess.run(
            [sys.executable, *program, *words[bool(program) :]], check=True, timeout=120,
            capture_output=True,
        )  # fmt: skip
    assert journal() == by_plan
    assert by_plan == ["filed the deed", "filed filed the deed"]
