"""`xai-mcp-agent tools approve`: tools approved for good, what it shows, and taking it back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.shredder_server import shredder_entry
from tests.support.terminals import terminal
from tests.support.warm_python import warm_python
from xai_mcp_agent import Bridge
from xai_mcp_agent.cli.main import run

COMMAND = "from xai_mcp_agent.cli.main import run; run()"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose only server destroys."""
    settings = {"mcpServers": {"shredder": shredder_entry(tmp_path / "journal")}}
    (tmp_path / "mcp_settings.json").write_text(json.dumps(settings), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CI", "true")
    for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    return tmp_path


def command(capsys: Any, *words: str) -> tuple[int, str, str]:
    """Status, output and errors of a command."""
    status = 0
    try:
        run(words)
    except SystemExit as end:
        status = int(end.code or 0)
    out, err = capsys.readouterr()
    return status, out, err


def approved(project: Path) -> dict[str, str]:
    file = project / "mcp_tools.lock.json"
    lock = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"sources": {}}
    return lock["sources"].get("mcp:shredder", {}).get("approved", {})


def test_a_digest_binds_it_to_what_was_read(project: Path, capsys: Any) -> None:
    status, _, err = command(capsys, "tools", "approve", "shredder", "shred")
    assert status == 1
    assert "Shred a paper." in err
    assert '"destructive": true' in err
    assert "shredder: nothing was approved" in err
    digest = re.findall(r"digest ([0-9a-f]{32})", err)[0]
    status, _, err = command(capsys, "tools", "approve", "shredder", "shred", "--digest", "0" * 32)
    assert status == 1
    assert "is not what the server says now" in err
    assert approved(project) == {}
    status, out, _ = command(capsys, "tools", "approve", "shredder", "shred", "--digest", digest)
    assert (status, approved(project)) == (0, {"shred": digest})
    assert "called without a question from now on" in out
    assert f"shredder: shred (digest {digest})" in command(capsys, "tools", "approve", "--list")[1]


def test_it_is_taken_back_and_both_are_in_the_history(project: Path, capsys: Any) -> None:
    err = command(capsys, "tools", "approve", "shredder", "shred")[2]
    digest = re.findall(r"digest ([0-9a-f]{32})", err)[0]
    command(capsys, "tools", "approve", "shredder", "shred", "--digest", digest)
    (project / "description").write_text("Keeps a paper.", encoding="utf-8")
    _, out, _ = command(capsys, "tools", "approve", "shredder", "shred", "--withdraw")
    assert "shred is asked for again" in out
    assert approved(project) == {}
    assert "Nothing is approved" in command(capsys, "tools", "approve", "--list")[1]
    with Bridge.open() as bridge:
        events = [x for x in bridge.history("shredder", "shred") if x.event_kind == "decision"]
    assert [x.change for x in events] == ["approved", "withdrawn"]
    assert events[0].payload["scope"] == "always"
    assert "xai-mcp-agent tools approve" in events[0].payload["by"]


def test_a_person_at_the_terminal_is_shown_all_of_it_and_asked(project: Path) -> None:
    words = ("-c", COMMAND, "tools", "approve", "shredder", "shred")
    with terminal(warm_python(), *words, folder=project) as screen:
        screen.expect('"description"')
        screen.expect("May agents call 'shred' of 'shredder'")
        screen.expect("(yes or no): ")
        screen.type("no")
        screen.expect("nothing was approved")
        assert screen.end() == 1
    assert approved(project) == {}
    with terminal(warm_python(), *words, folder=project) as screen:
        screen.expect("(yes or no): ")
        screen.type("yes")
        assert screen.end() == 0
    assert list(approved(project)) == ["shred"]


def test_a_yes_that_was_typed_before_the_question_approves_nothing(project: Path) -> None:
    words = ("-c", COMMAND, "tools", "approve", "shredder", "shred")
    with terminal(warm_python(), *words, folder=project) as screen:
        screen.type("y")
        screen.expect("from now on?")
        screen.type("no")
        screen.expect("nothing was approved")
        assert screen.end() == 1
    assert approved(project) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "is not the file of a waiting run"),
        ("[" * 100_000, "cannot be read as a run"),
        ('{"version": 1, "signature": "x", "run": {}}', "nothing in it counts"),
        ('{"version": 1, "signature": "\\ud800", "run": {}}', "nothing in it counts"),
        ("\x00", "cannot be read as a run"),
    ],
    ids=["other", "deep", "unsigned", "odd", "binary"],
)
def test_a_foreign_file_is_no_waiting_run(project: Path, capsys: Any, text: str, said: str) -> None:
    (project / "x.run.json").write_text(text, encoding="utf-8")
    status, _, err = command(capsys, "plan", "approve", "x.run.json", "--all")
    assert status == 1
    assert said in err
    assert (project / "x.run.json").read_text(encoding="utf-8") == text
