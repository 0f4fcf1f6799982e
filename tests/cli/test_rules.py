"""`xai-mcp-agent rules`: what rules say of tools, before anything is called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_servers import command
from tests.support.shredder_server import shredder_entry

RULES = [
    {"name": "papers", "when": {"tool": "shred", "args.paper": "contract*"}, "then": "deny"},
    {"name": "few", "when": {"tool": "count"}, "then": {"limit": "2 a run"}},
    {"name": "nothing here", "when": {"server": "elsewhere"}, "then": "ask"},
    {"name": "no names", "when": {"tool": "rename", "agent": "not clerk"}, "then": "deny"},
    {"name": "destroys", "when": {"annotation": "destructive"}, "then": {"is": "a_danger"}},
]


@pytest.fixture
def file(tmp_path: Path) -> str:
    found = tmp_path / "mcp_settings.json"
    document = {"mcpServers": {"shredder": shredder_entry()}, "rules": RULES}
    found.write_text(json.dumps(document), encoding="utf-8")
    return str(found)


def test_a_dry_run_says_what_each_rule_is_about(file: str, capsys: Any) -> None:
    status, out, _ = command(capsys, "rules", "check", "--settings", file)
    lines = out.splitlines()
    assert lines[0].endswith("1 denied, of 4 tools.")
    assert "papers: deny: shredder/shred" in lines
    assert "few: at most 2 a run: shredder/count" in lines
    assert "nothing here: ask: no tool that is there now" in lines
    assert "destroys: says 'a_danger': shredder/shred" in lines
    assert status == 0
    as_clerk = command(capsys, "rules", "check", "--agent", "clerk", "--settings", file)[1]
    assert as_clerk.splitlines()[0].endswith("0 denied, of 4 tools.")
    shown = json.loads(command(capsys, "rules", "check", "--settings", file, "--json")[1])
    assert shown["counts"]["deny"] == 1
    assert [x["name"] for x in shown["rules"]] == ["papers", "few", "nothing here", "no names"]
    assert shown["rules"][0]["tools"] == ["shredder/shred"]


def test_it_is_told_why_a_call_would_not_be_made(file: str, capsys: Any) -> None:
    why = ("rules", "why", "shredder", "shred")
    _, out, _ = command(capsys, *why, "paper=contract 7", "--settings", file)
    assert "shredder/shred is denied: the rule 'papers' does not allow it, because" in out
    assert "It is: a_danger." in out
    _, out, _ = command(capsys, *why, "--settings", file)
    assert "shredder/shred is asked for: its source says that it may destroy something." in out
    assert "It may be denied by the rule 'papers'" in out
    shown = command(capsys, *why, '{"paper": "contract"}', "--settings", file, "--json")[1]
    assert json.loads(shown)["rule"] == "papers"
    status, _, err = command(capsys, "rules", "why", "shredder", "shed", "--settings", file)
    assert (status, "shred" in err) == (1, True)


def test_without_rules_that_is_said(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": {"shredder": shredder_entry()}}), encoding="utf-8")
    _, out, _ = command(capsys, "rules", "check", "--settings", str(file))
    assert out.startswith("There are no rules")
