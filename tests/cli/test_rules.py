"""`xai-mcp-agent rules`: what rules say of tools, before anything is called."""

from __future__ import annotations

import io
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


def test_it_is_reported_why_a_call_would_not_be_made(file: str, capsys: Any) -> None:
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


def test_without_rules_that_is_reported(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": {"shredder": shredder_entry()}}), encoding="utf-8")
    _, out, _ = command(capsys, "rules", "check", "--settings", str(file))
    assert out.startswith("There are no rules")


def test_rules_are_put_into_the_store_listed_and_removed(
    file: str, tmp_path: Path, capsys: Any
) -> None:
    at = ("--settings", file)
    rules = tmp_path / "more.yaml"
    rules.write_text(
        "- {name: no counting, when: {tool: count}, then: deny}\n"
        "- {name: ask, when: {tool: 'shr*'}, then: ask}\n",
        encoding="utf-8",
    )
    status, out, _ = command(capsys, "rules", "put", str(rules), *at)
    assert status == 0
    assert "The store has 2 rules, revision 1." in out
    assert "The settings do not use them" in out
    assert (
        "shredder/count is allowed" in command(capsys, "rules", "why", "shredder", "count", *at)[1]
    )
    written = json.loads(Path(file).read_text(encoding="utf-8"))
    written["rules"].append({"from": "store", "revision": 1})
    Path(file).write_text(json.dumps(written), encoding="utf-8")
    denied = "shredder/count is denied: the rule 'no counting' does not allow it"
    assert denied in command(capsys, "rules", "why", "shredder", "count", *at)[1]
    assert "no counting: deny: shredder/count" in command(capsys, "rules", "check", *at)[1]
    status, _, err = command(capsys, "rules", "remove", "no countin", *at)
    assert (status, "Did you mean 'no counting'" in err) == (1, True)
    out = command(capsys, "rules", "remove", "no counting", *at)[1]
    assert out.splitlines()[-1] == "The store has 1 rule, revision 2."
    shown = json.loads(command(capsys, "rules", "list", *at, "--json")[1])
    assert (shown["revision"], shown["is_used"]) == (2, True)
    assert [x["name"] for x in shown["rules"]] == ["ask"]


def test_rules_from_standard_input_replace_all(
    file: str, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = b"- {name: few, when: {tool: count}, then: {limit: 5 a run}}"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
    out = command(capsys, "rules", "put", "-", "--only", "--settings", file)[1]
    assert "The store has 1 rule, revision 1." in out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"- {name: few, then: allow}")))
    status, _, err = command(capsys, "rules", "put", "-", "--settings", file)
    assert (status, "the rules for the store" in err) == (1, True)


def test_where_nothing_is_kept_no_rules_are_put(
    file: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XAI_MCP_STORE", "memory")
    (tmp_path / "r.yaml").write_text("[]", encoding="utf-8")
    status, _, err = command(capsys, "rules", "put", str(tmp_path / "r.yaml"), "--settings", file)
    assert (status, "nothing is kept there" in err) == (1, True)
