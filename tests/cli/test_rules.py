"""`xai-mcp-agent rules`: the decisions of rules about tools, before anything is called."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.support.commands import Cli, CommandResult, write_settings
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
    cli("rules check").shows(
        "1 denied, of 4 tools.", "papers: deny: shredder/shred",
        "few: at most 2 a run: shredder/count", "nothing here: ask: no present tool",
        "destroys: says 'a_danger': shredder/shred",
    )  # fmt: skip
    cli("rules check --agent clerk").shows("0 denied, of 4 tools.")
    answer = cli("rules check --json").json
    assert [x["name"] for x in answer["rules"]] == ["papers", "few", "nothing here", "no names"]
    write_settings(file.parent, {"shredder": shredder_entry()})
    cli("rules check").shows("There are no rules")


def test_why_explains_the_ruling_on_a_call(file: Path, cli: Cli):
    cli("rules why shredder shred 'paper=contract 7'").shows(
        "shredder/shred is denied: the rule 'papers' does not allow it, because", "It is: a_danger."
    )
    cli("rules why shredder shred").shows(
        "shredder/shred is asked for: its source says that it may destroy something.",
        "It may be denied by the rule 'papers'",
    )
    assert cli("""rules why shredder shred '{"paper": "contract"}' --json""").json["word"] == "deny"
    cli("rules why shredder shed").fails("shred")


def test_rules_are_put_into_the_store_listed_and_removed(
    file: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    (file.parent / "more.yaml").write_text(
        "- {name: no counting, when: {tool: count}, then: deny}\n"
        "- {name: ask, when: {tool: 'shr*'}, then: ask}\n",
        encoding="utf-8",
    )
    cli("rules put more.yaml").shows(
        "The store has 2 rules, revision 1.", "The settings do not use them"
    )
    cli("rules why shredder count").shows("shredder/count is allowed")
    document = json.loads(file.read_text(encoding="utf-8"))
    document["rules"].append({"from": "store", "revision": 1})
    file.write_text(json.dumps(document), encoding="utf-8")
    denied = "shredder/count is denied: the rule 'no counting' does not allow it"
    cli("rules why shredder count").shows(denied)
    cli("rules check").shows("no counting: deny: shredder/count")
    cli("rules remove 'no countin'").fails("Did you mean 'no counting'")
    cli("rules remove 'no counting'").shows("The store has 1 rule, revision 2.")
    answer = cli("rules list --json").json
    assert (answer["revision"], answer["is_used"]) == (2, True)
    assert [x["name"] for x in answer["rules"]] == ["ask"]

    def put(text: bytes, words: str = "") -> CommandResult:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        return cli(f"rules put - {words}")

    few = put(b"- {name: few, when: {tool: count}, then: {limit: 5 a run}}", "--only")
    few.shows("The store has 1 rule, revision 3.")
    put(b"- {name: few, then: allow}").fails("the rules for the store")
    monkeypatch.setenv("XAI_MCP_STORE", "memory")
    cli("rules put more.yaml").fails("nothing is kept there")
