"""`xai-mcp-agent rules`: the decisions of rules about tools, before anything is called."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.support.commands import Cli, write_settings
from tests.support.shredder_server import shredder_entry

RULES = [
    {"name": "papers", "when": {"tool": "shred", "args.paper": "contract*"}, "then": "deny"},
    {"name": "few", "when": {"tool": "count"}, "then": {"limit": "2 a run"}},
    {"name": "nothing here", "when": {"server": "elsewhere"}, "then": "ask"},
    {"name": "no names", "when": {"tool": "rename", "agent": "not clerk"}, "then": "deny"},
    {"name": "destroys", "when": {"annotation": "destructive"}, "then": {"is": "a_danger"}},
]


@pytest.fixture
def file(folder: Path) -> Path:
    return write_settings(folder, {"shredder": shredder_entry()}, rules=RULES)


def test_check_lists_the_tools_of_each_rule(file: Path, cli: Cli):
    status, out, _ = cli("rules check")
    lines = out.splitlines()
    assert (status, lines[0].endswith("1 denied, of 4 tools.")) == (0, True)
    assert {
        "papers: deny: shredder/shred", "few: at most 2 a run: shredder/count",
        "nothing here: ask: no present tool", "destroys: says 'a_danger': shredder/shred",
    } <= {*lines}  # fmt: skip
    as_clerk = cli("rules check --agent clerk").out
    assert as_clerk.splitlines()[0].endswith("0 denied, of 4 tools.")
    answer = cli("rules check --json").json
    assert answer["counts"]["deny"] == 1
    assert [x["name"] for x in answer["rules"]] == ["papers", "few", "nothing here", "no names"]
    assert answer["rules"][0]["tools"] == ["shredder/shred"]
    write_settings(file.parent, {"shredder": shredder_entry()})
    assert cli("rules check").out.startswith("There are no rules")


def test_why_explains_the_ruling_on_a_call(file: Path, cli: Cli):
    out = cli("rules why shredder shred 'paper=contract 7'").out
    assert "shredder/shred is denied: the rule 'papers' does not allow it, because" in out
    assert "It is: a_danger." in out
    out = cli("rules why shredder shred").out
    assert "shredder/shred is asked for: its source says that it may destroy something." in out
    assert "It may be denied by the rule 'papers'" in out
    answer = cli("rules why shredder shred", '{"paper": "contract"}', "--json").json
    assert answer["rule"] == "papers"
    ran = cli("rules why shredder shed")
    assert (ran.status, "shred" in ran.err) == (1, True)


def test_rules_are_put_into_the_store_listed_and_removed(
    file: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    (file.parent / "more.yaml").write_text(
        "- {name: no counting, when: {tool: count}, then: deny}\n"
        "- {name: ask, when: {tool: 'shr*'}, then: ask}\n",
        encoding="utf-8",
    )
    out = cli("rules put more.yaml").out
    assert "The store has 2 rules, revision 1." in out
    assert "The settings do not use them" in out
    assert "shredder/count is allowed" in cli("rules why shredder count").out
    document = json.loads(file.read_text(encoding="utf-8"))
    document["rules"].append({"from": "store", "revision": 1})
    file.write_text(json.dumps(document), encoding="utf-8")
    denied = "shredder/count is denied: the rule 'no counting' does not allow it"
    assert denied in cli("rules why shredder count").out
    assert "no counting: deny: shredder/count" in cli("rules check").out
    ran = cli("rules remove 'no countin'")
    assert (ran.status, "Did you mean 'no counting'" in ran.err) == (1, True)
    out = cli("rules remove 'no counting'").out
    assert out.splitlines()[-1] == "The store has 1 rule, revision 2."
    answer = cli("rules list --json").json
    assert (answer["revision"], answer["is_used"]) == (2, True)
    assert [x["name"] for x in answer["rules"]] == ["ask"]

    def put(text: bytes, words: str = "") -> tuple[int, str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        ran = cli(f"rules put - {words}")
        return ran.status, ran.text

    few = put(b"- {name: few, when: {tool: count}, then: {limit: 5 a run}}", "--only")
    assert "The store has 1 rule, revision 3." in few[1]
    status, text = put(b"- {name: few, then: allow}")
    assert (status, "the rules for the store" in text) == (1, True)
    monkeypatch.setenv("XAI_MCP_STORE", "memory")
    ran = cli("rules put more.yaml")
    assert (ran.status, "nothing is kept there" in ran.err) == (1, True)
