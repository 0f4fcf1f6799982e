"""`tools disable`, `enable`, `accept` and `approve`, over a history that real servers left."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.commands import AS_A_PROCESS, Cli, write_settings
from tests.support.fault_server import entry
from tests.support.shredder_server import shredder_entry
from tests.support.terminals import terminal
from tests.support.warm_python import warm_python
from xai_mcp_agent import Bridge

COMMAND = (warm_python(), *AS_A_PROCESS, "tools")
OFF = "is switched off: no agent is offered it."


@pytest.fixture
def project(folder: Path) -> Path:
    """A folder with a locked server that has changed a tool since its first use."""

    def tool(name: str, **properties: object) -> dict[str, object]:
        schema = {"type": "object", "properties": properties}
        return {"name": name, "description": f"{name.title()}s.", "inputSchema": schema}

    then = {"tools": [tool("pay", to={"type": "string"}), tool("ask")]}
    journal = str(folder / "journal")
    shop = entry(tools=[tool("pay"), tool("ask")], then=then, journal=journal)
    file = write_settings(folder, {"shop": {**shop, "lock": "first"}})
    with Bridge.open(file) as bridge:
        bridge.call_tool("shop", "pay")
    return folder


def lock_of(folder: Path) -> str:
    return (folder / "mcp_tools.lock.json").read_text()


def digest_in(text: str) -> str:
    """Return the first digest in a text."""
    match = re.search(r"[0-9a-f]{32}", text)
    assert match is not None
    return match[0]


# Switching off


def test_tools_are_switched_off_and_on_and_lists_show_their_state(
    project: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    assert cli("tools disable shop pay") == (0, f"shop: pay {OFF}\n", "")
    again = f"shop: pay is switched off already.\nshop: ask {OFF}\n"
    assert cli("tools disable shop pay ask").out == again
    assert cli("tools enable shop pay").out == "shop: pay is switched on again.\n"
    assert (project / "journal").read_text().count("pid ") == 1, "the history knows them"
    cli("tools list shop").shows("ask(no parameters) (switched off): Asks.")
    cli("tools list --all").shows("ask: switched off; ")
    monkeypatch.setenv("XAI_MCP_STORE", "memory")
    assert cli("tools disable shop pay").status == 0, "also where the history is forgotten"
    assert json.loads(lock_of(project))["sources"]["mcp:shop"]["off"] == ["ask", "pay"]
    monkeypatch.delenv("XAI_MCP_STORE")
    write_settings(project, {})
    assert cli("tools enable shop pay").status == 0, "also when its server is not configured"


def test_a_decision_that_cannot_be_made_is_explained(project: Path, cli: Cli):
    for line, status, text in (
        ("disable shop pya", 1, "shop has no tool 'pya', and had none. Did you mean 'pay'"),
        ("disable shp pay", 1, "No MCP server 'shp' in "),
        ("accept shop pay --all", 2, "perhaps some of its tools too, or give --all."),
        (f"accept --all --digest {'1' * 32}", 2, "some of its tools too, or give --all."),
        ("accept", 2, "Name a server, perhaps some of its tools too, or give --all."),
    ):
        cli(f"tools {line}").fails(text, status=status)
    lock = project / "mcp_tools.lock.json"
    lock.unlink()
    lock.mkdir()
    cli("tools disable shop pay").fails("error: The decisions in ")


# Accepting


def test_accepting_all_says_when_no_tools_are_locked(shredder: Path, cli: Cli):
    assert "Nothing waits to be accepted" in cli("tools accept --all").out


def test_without_a_terminal_only_the_whole_digest_accepts_a_definition(project: Path, cli: Cli):
    """A server could find another definition with the same short digest in hours."""
    before = lock_of(project)
    ran = cli("tools accept shop pay")
    digest = digest_in(ran.err)
    command = f"xai-mcp-agent tools accept shop pay --digest {digest}"
    ran.fails("shop: pay changed since it was accepted (digest ", "'to'", f"`{command}` accepts it")
    too_short = "a digest needs all of its 32 characters"
    for part in (digest[:12], digest[:31], "0" * 32, "no"):
        ran = cli(f"tools accept shop pay --digest {part}").fails("shop: nothing was accepted: ")
        assert (too_short in ran.text) == (len(part) < 32), part
    assert lock_of(project) == before
    (choice,) = cli(f"tools accept shop pay --digest {digest.upper()} --json").json
    assert len(choice.pop("lines")) == 1
    assert choice == {"server": "shop", "tool": "pay", "decision": "accepted", "is_new": True}
    assert json.loads(lock_of(project))["sources"]["mcp:shop"]["accepted"]["pay"] == digest
    unchanged = "shop: pay has not changed since it was accepted.\n"
    assert cli("tools accept shop pay") == (0, unchanged, "")
    (project / "mcp_tools.lock.json").write_text("{}")
    ran = cli("tools accept shop").fails('"description": "Asks."')
    assert re.search(r"([0-9a-f]{32})  all of it", ran.err)


def test_a_person_accepts_exactly_the_definition_on_the_screen_or_nothing(project: Path):
    before = lock_of(project)
    for answers, end in ((("", "no"), "shop: nothing was accepted."),
                         (("y",), "shop: pay is accepted as it is now.")):  # fmt: skip
        assert lock_of(project) == before
        with terminal(*COMMAND, "accept", "--all", folder=project) as screen:
            screen.expect("shop: pay changed since it was accepted (digest")
            screen.expect("Accept this of 'shop'? (yes or no): ")
            screen.type(answers[0])
            for answer in answers[1:]:
                screen.expect("Type yes or no.")
                screen.type(answer)
            screen.expect(end)
            assert screen.end() == 0
    assert lock_of(project) != before


def test_lists_of_tools_show_locked_tools_and_unreadable_decisions(project: Path, cli: Cli):
    lock = project / "mcp_tools.lock.json"
    decided = json.loads(lock.read_text())
    del decided["sources"]["mcp:shop"]["accepted"]["ask"]
    lock.write_text(json.dumps(decided))
    cli("tools list shop").shows(
        "pay(to?: string) (changed since it was accepted): Pays.",
        "ask(no parameters) (not accepted yet): Asks.",
    )
    answer = cli("tools list shop --json").json
    assert [x["is_held"] for x in answer["tools"]["shop"]] == [True, True]
    cli("tools list shop --all").shows("ask: not accepted yet; never called")
    tools = cli("tools list shop --all --json").json["tools"]
    assert {x["name"]: x["is_held"] for x in tools} == {"ask": True, "pay": True}
    cli("tools explain shop ask").shows("shop: ask (not accepted yet)")
    lock.unlink()  # the first use accepts it
    cli("tools list shop").shows("ask(no parameters): Asks.")
    lock.write_text("{")
    note = "note: Decisions: they cannot be looked up, so agents are offered no tools."
    cli("tools list shop").shows("(not accepted yet)", note, status=1)
    assert "it is not JSON" in cli("tools list shop --json").json["decisions"]
    assert cli("servers check shop").status == 1


def test_the_graph_shows_current_decisions_or_the_recorded_ones_for_the_past(
    project: Path, cli: Cli
):
    def off(*words: str) -> list[str]:
        nodes = cli("history graph --format json", *words).json["nodes"]
        return [x["label"] for x in nodes if not x["is_enabled"]]

    cli("tools disable shop pay")
    lock = project / "mcp_tools.lock.json"
    lock.write_text('{"sources": {"mcp:shop": {"off": ["ask"]}}}')
    assert off() == ["ask"]
    assert off("--at", "0s") == ["pay"]
    cli("tools list --at 0s").shows("Decisions are as recorded then; ")
    lock.write_text("{")
    cli("history graph").shows("Switched-off tools are shown as the history recorded them.")


# Approving


@pytest.fixture
def shredder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose only server has destructive tools."""
    write_settings(folder, {"shredder": shredder_entry(folder / "journal")})
    monkeypatch.setenv("CI", "true")
    return folder


def approvals_in(folder: Path) -> dict[str, str]:
    file = folder / "mcp_tools.lock.json"
    lock = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"sources": {}}
    return lock["sources"].get("mcp:shredder", {}).get("approved", {})


def test_an_approval_needs_the_digest_of_the_description_on_the_screen(shredder: Path, cli: Cli):
    approve = "tools approve shredder shred"
    ran = cli(approve)
    ran.fails("Shred a paper.", '"destructive": true', "shredder: nothing was approved")
    digest = digest_in(ran.err)
    cli(f"{approve} --digest {'0' * 32}").fails("is not what the server says now")
    assert approvals_in(shredder) == {}
    cli(f"{approve} --digest {digest}").shows("called without a question from now on")
    assert approvals_in(shredder) == {"shred": digest}
    cli("tools approve --list").shows(f"shredder: shred (digest {digest})")
    (shredder / "description").write_text("Keeps a paper.", encoding="utf-8")
    cli(f"{approve} --withdraw").shows("shred needs your approval again")
    assert approvals_in(shredder) == {}
    cli("tools approve --list").shows("Nothing is approved")
    with Bridge.open() as bridge:
        events = [x for x in bridge.history("shredder", "shred") if x.event_kind == "decision"]
    assert [x.change for x in events] == ["approved", "withdrawn"]
    assert events[0].payload["scope"] == "always"
    assert "xai-mcp-agent tools approve" in events[0].payload["by"]


def test_a_person_at_the_terminal_sees_the_whole_description_and_is_asked(shredder: Path):
    """Keys typed before the question approve nothing."""
    words = (*COMMAND, "approve", "shredder", "shred")
    with terminal(*words, folder=shredder) as screen:
        screen.type("y")
        screen.expect('"description"')
        screen.expect("May agents call 'shred' of 'shredder' unasked from now on? (yes or no): ")
        screen.type("no")
        screen.expect("nothing was approved")
        assert screen.end() == 1
    assert approvals_in(shredder) == {}
    with terminal(*words, folder=shredder) as screen:
        screen.expect("(yes or no): ")
        screen.type("yes")
        assert screen.end() == 0
    assert list(approvals_in(shredder)) == ["shred"]


def test_a_file_that_is_not_a_waiting_run_is_refused(folder: Path, cli: Cli):
    file = folder / "x.run.json"
    for text, says in (
        ("{}", "is not the file of a waiting run"),
        ("[" * 100_000, "cannot be read as a run"),
        ('{"version": 1, "signature": "x", "run": {}}', "nothing in it counts"),
    ):
        file.write_text(text, encoding="utf-8")
        cli("plan approve x.run.json --all").fails(says)
        assert file.read_text(encoding="utf-8") == text
