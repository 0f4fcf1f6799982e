"""`tools disable`, `enable` and `accept`, over a history that real servers left behind."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.fault_server import entry
from tests.support.terminals import terminal
from tests.support.warm_python import warm_python
from xai_mcp_agent import Bridge
from xai_mcp_agent.cli.main import run

COMMAND = (warm_python(), "-c", "from xai_mcp_agent.cli.main import run; run()")


def listed(name: str, description: str, **properties: Any) -> dict[str, Any]:
    """A tool as a server lists it."""
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": description, "inputSchema": schema}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a locked server, which has changed a tool since that was used first.

    At its third start it does not have the tool any more.
    """
    before, after = listed("pay", "Pays."), listed("pay", "Pays.", to={"type": "string"})
    ask = listed("ask", "Asks.")
    shop = entry(
        tools=[before, ask],
        then={"tools": [after, ask], "then": {"tools": [ask]}},
        journal=str(tmp_path / "journal"),
    )
    file = tmp_path / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": {"shop": {**shop, "lock": "first"}}}))
    for name in ("XAI_MCP_STORE", "XAI_MCP_SETTINGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    with Bridge.open(file) as bridge:
        bridge.call_tool("shop", "pay")
    return tmp_path


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run the command; its exit status, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        run(words)
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def starts(project: Path) -> int:
    """How often the server was started."""
    return (project / "journal").read_text().count("pid ")


def test_tools_are_switched_off_and_on_in_a_line_each(project: Path, capsys: Any):
    off = "shop: pay is switched off: no agent is offered it.\n"
    assert command(capsys, "tools", "disable", "shop", "pay") == (0, off, "")
    again = "shop: pay is switched off already.\nshop: ask is switched off: no agent is offered"
    status, out, _ = command(capsys, "tools", "disable", "shop", "pay", "ask")
    assert (status, out) == (0, f"{again} it.\n")
    status, out, _ = command(capsys, "tools", "enable", "shop", "pay")
    assert (status, out) == (0, "shop: pay is switched on again.\n")
    assert starts(project) == 1, "the history knows them"


def digest_in(text: str) -> str:
    """The first digest in it."""
    found = re.search(r"[0-9a-f]{32}", text)
    assert found is not None
    return found[0]


def test_where_nobody_can_be_asked_what_waits_is_shown_with_its_digest_and_nothing_accepted(
    project: Path, capsys: Any
):
    with Bridge.open() as bridge:
        bridge.list_tools("shop")
    before = (project / "mcp_tools.lock.json").read_text()
    status, out, err = command(capsys, "tools", "accept", "shop", "pay")
    assert (status, out) == (1, "")
    assert "shop: pay changed since it was accepted (digest " in err
    assert "'to'" in err
    assert f"`xai-mcp-agent tools accept shop pay --digest {digest_in(err)}` accepts it" in err
    assert (project / "mcp_tools.lock.json").read_text() == before


def test_a_digest_accepts_what_it_is_of(project: Path, capsys: Any):
    with Bridge.open() as bridge:
        bridge.list_tools("shop")
    digest = digest_in(command(capsys, "tools", "accept", "shop", "pay")[2])
    status, out, _ = command(capsys, "tools", "accept", "shop", "pay", "--digest", digest.upper())
    first, *changes = out.splitlines()
    assert (status, first) == (0, "shop: pay is accepted as it is now.")
    assert len(changes) == 1
    assert "'to'" in changes[0]
    assert changes[0].startswith("  ")
    assert starts(project) == 2, "what was listed last is what is accepted"
    lock = json.loads((project / "mcp_tools.lock.json").read_text())
    assert lock["sources"]["mcp:shop"]["accepted"]["pay"] == digest
    status, out, _ = command(capsys, "tools", "accept", "shop", "pay")
    assert (status, out) == (0, "shop: pay has not changed since it was accepted.\n")


def test_a_beginning_of_a_digest_accepts_nothing(project: Path, capsys: Any):
    """48 bits of it, which were enough once, a server finds another definition for in hours."""
    before = (project / "mcp_tools.lock.json").read_text()
    with Bridge.open() as bridge:
        (review,) = bridge.review("shop", "pay")
    for length in (12, 31):
        given = review.digest[:length]
        status, _, err = command(capsys, "tools", "accept", "shop", "pay", "--digest", given)
        assert status == 1
        assert "a digest needs all of its 32 characters" in err
        assert f"accept shop pay --digest {review.digest}`" in err
    assert (project / "mcp_tools.lock.json").read_text() == before


@pytest.mark.parametrize("digest", ["0" * 32, "0" * 11, "no"])
def test_another_digest_accepts_nothing(project: Path, capsys: Any, digest: str):
    """The server may have changed it between the reading and the command."""
    before = (project / "mcp_tools.lock.json").read_text()
    status, _, err = command(capsys, "tools", "accept", "shop", "pay", "--digest", digest)
    assert status == 1
    assert "shop: nothing was accepted: " in err
    assert (project / "mcp_tools.lock.json").read_text() == before


def test_accept_asks_the_server_where_the_history_has_nothing_new(project: Path, capsys: Any):
    """Somebody has just updated the server, and nothing has used it since."""
    with Bridge.open() as bridge:
        (review,) = bridge.review("shop", "pay")
    digest = review.digest
    status, out, _ = command(capsys, "tools", "accept", "shop", "pay", "--digest", digest, "--json")
    (choice,) = json.loads(out)
    assert (status, choice["is_new"], len(choice["lines"])) == (0, True, 1)
    assert {"server": "shop", "tool": "pay", "decision": "accepted"}.items() <= choice.items()


def test_a_whole_server_is_accepted_by_the_digest_of_all_that_it_says(project: Path, capsys: Any):
    (project / "mcp_tools.lock.json").write_text("{}")
    status, _, err = command(capsys, "tools", "accept", "shop")
    assert status == 1
    assert "shop: pay was not accepted yet (digest " in err
    assert '"description": "Pays."' in err
    all_of_it = re.search(r"([0-9a-f]{32})  all of it", err)
    assert all_of_it is not None


def test_a_person_reads_says_yes_and_accepts_what_they_read(project: Path):
    with terminal(*COMMAND, "tools", "accept", "shop", folder=project) as s:
        s.expect("shop: pay changed since it was accepted (digest")
        s.expect("'to'")
        s.expect("Accept this of 'shop'? (yes or no): ")
        s.type("y")
        s.expect("shop: pay is accepted as it is now.")
        assert s.end() == 0
    with terminal(*COMMAND, "tools", "accept", "--all", folder=project) as s:
        s.expect("shop: nothing waits to be accepted.")
        assert s.end() == 0


def test_a_person_says_no_and_nothing_is_accepted(project: Path):
    before = (project / "mcp_tools.lock.json").read_text()
    with terminal(*COMMAND, "tools", "accept", "--all", folder=project) as s:
        s.expect("Accept this of 'shop'? (yes or no): ")
        s.type("")
        s.expect("Type yes or no.")
        s.type("no")
        s.expect("shop: nothing was accepted.")
        assert s.end() == 0
    assert (project / "mcp_tools.lock.json").read_text() == before


def test_a_tool_that_is_not_offered_now_can_be_decided_about(project: Path, capsys: Any):
    (project / "mcp_settings.json").write_text('{"mcpServers": {}}')
    assert command(capsys, "tools", "disable", "shop", "pay")[0] == 0
    status, out, _ = command(capsys, "tools", "accept", "shop", "pay")
    assert (status, out) == (0, "shop: pay has not changed since it was accepted.\n")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (
            ("tools", "disable", "shop", "pya"),
            1,
            "shop has no tool 'pya', and had none. Did you mean 'pay'",
        ),
        (("tools", "disable", "shp", "pay"), 1, "No MCP server 'shp' in "),
        (
            ("tools", "accept", "shop", "pay", "--all"),
            2,
            "perhaps some of its tools too, or give --all.",
        ),
        (
            ("tools", "accept", "--all", "--digest", "1" * 32),
            2,
            "some of its tools too, or give --all.",
        ),
        (
            (
                "tools",
                "accept",
            ),
            2,
            "Name a server, perhaps some of its tools too, or give --all.",
        ),
    ],
)
def test_what_cannot_be_is_reported_with_what_to_do(
    project: Path, capsys: Any, words: tuple[str, ...], status: int, said: str
):
    ended, out, err = command(capsys, *words)
    assert (ended, out) == (status, "")
    assert said in " ".join(err.replace("│", "").split())


def test_what_cannot_be_written_is_an_error(project: Path, capsys: Any):
    lock = project / "mcp_tools.lock.json"
    lock.unlink()
    lock.mkdir()
    status, out, err = command(capsys, "tools", "disable", "shop", "pay")
    assert (status, out) == (1, "")
    assert "error: The decisions in " in err


def test_a_decision_holds_where_the_history_is_forgotten_at_once(
    project: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XAI_MCP_STORE", "memory")
    assert command(capsys, "tools", "disable", "shop", "pay")[0] == 0
    lock = json.loads((project / "mcp_tools.lock.json").read_text())
    assert lock["sources"]["mcp:shop"]["off"] == ["pay"]


def test_lists_of_tools_tell_what_a_pin_holds_back(project: Path, capsys: Any):
    lock = project / "mcp_tools.lock.json"
    decided = json.loads(lock.read_text())
    del decided["sources"]["mcp:shop"]["accepted"]["ask"]
    lock.write_text(json.dumps(decided))
    _, out, _ = command(capsys, "tools", "list", "shop")
    assert "pay(to?: string) (changed since it was accepted): Pays." in out
    assert "ask(no parameters) (not accepted yet): Asks." in out
    shown = json.loads(command(capsys, "tools", "list", "shop", "--json")[1])
    assert [x["is_held"] for x in shown["tools"]["shop"]] == [True]  # it has lost the other
    _, out, _ = command(capsys, "tools", "list", "shop", "--all")
    assert "ask: not accepted yet; never called" in out
    known = json.loads(command(capsys, "tools", "list", "shop", "--all", "--json")[1])["tools"]
    assert {x["name"]: x["is_held"] for x in known} == {"ask": True, "pay": True}
    _, out, _ = command(capsys, "tools", "explain", "shop", "ask")
    assert out.startswith("shop: ask (not accepted yet)")
    lock.unlink()
    _, out, _ = command(capsys, "tools", "list", "shop")
    assert "ask(no parameters): Asks." in out, "the first use of it accepts what it lists"


def test_lists_of_tools_tell_where_nobody_knows_what_was_decided(project: Path, capsys: Any):
    (project / "mcp_tools.lock.json").write_text("{")
    status, out, err = command(capsys, "tools", "list", "shop")
    assert (status, "(not accepted yet)" in out) == (1, True)
    assert command(capsys, "servers", "check", "shop")[0] == 1
    assert err.startswith(
        "note: Decisions: they cannot be looked up, so agents are offered no tools."
    )
    shown = json.loads(command(capsys, "tools", "list", "shop", "--json")[1])
    assert "it is not JSON" in shown["decisions"]


def test_the_graph_has_what_is_decided_now_and_what_was_noted_then(project: Path, capsys: Any):
    def off(*words: str) -> list[str]:
        nodes = json.loads(command(capsys, "history", "graph", "--format", "json", *words)[1])[
            "nodes"
        ]
        return [x["label"] for x in nodes if not x["is_enabled"]]

    command(capsys, "tools", "disable", "shop", "pay")
    (project / "mcp_tools.lock.json").write_text('{"sources": {"mcp:shop": {"off": ["ask"]}}}')
    assert off() == ["ask"]
    with Bridge.open() as bridge:
        assert [x.label for x in bridge.graph().nodes if not x.is_enabled] == ["ask"]
    assert off("--at", "0s") == ["pay"]
    _, out, _ = command(capsys, "tools", "list", "--at", "0s")
    assert "Decisions are shown as the history noted them; " in out
    (project / "mcp_tools.lock.json").write_text("{")
    _, _, err = command(capsys, "history", "graph")
    assert "What is switched off is as the history notes it." in err


def test_lists_of_tools_tell_of_it(project: Path, capsys: Any):
    command(capsys, "tools", "disable", "shop", "ask")
    status, out, _ = command(capsys, "tools", "list", "shop")
    assert status == 0
    assert "pay(to?: string) (changed since it was accepted): Pays." in out
    assert "ask(no parameters) (switched off): Asks." in out
    shown = json.loads(command(capsys, "tools", "list", "shop", "--all", "--json")[1])
    assert [x["name"] for x in shown["tools"] if not x["is_enabled"]] == ["ask"]
    every = command(capsys, "tools", "list", "--all")[1]
    assert "ask: switched off; " in every
