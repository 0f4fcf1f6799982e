"""`xai-mcp-agent tools list --all`, now and as of another time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.fault_server import entry
from xai_mcp_agent import Bridge
from xai_mcp_agent.cli.main import run


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose server lost a tool; the settings start another program now."""
    folder = tmp_path_factory.mktemp("project")
    file = folder / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": {"it": entry(), "old": entry()}}))
    with Bridge.open(file) as bridge:
        bridge.call_tool("it", "echo", {"text": "a"})
        left = [x for x in bridge.list_tools("it") if x.name in ("echo", "set_tools")]
        tools = [{"name": x.name, "inputSchema": x.input_schema} for x in left]
        bridge.call_tool("it", "set_tools", {"tools": tools, "only": True})
        bridge.refresh("it")
        bridge.list_tools("old")
    mark = folder / "started"
    servers = {"it": entry(), "bad": {"command": "touch", "args": [str(mark)]}}
    file.write_text(json.dumps({"mcpServers": servers}))
    return folder


@pytest.fixture(autouse=True)
def _there(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XAI_MCP_STORE", raising=False)
    monkeypatch.delenv("XAI_MCP_SETTINGS", raising=False)
    monkeypatch.chdir(project)
    (project / "started").unlink(missing_ok=True)


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run the command; its exit status, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        run(["tools", "list", *words])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_what_was_known_at_a_time_is_reported_without_starting_anything(project: Path, capsys: Any):
    status, out, err = command(capsys, "it", "--at", "0s")
    lines = out.splitlines()
    assert (status, err) == (0, "")
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("As of 20")
    assert lines[1].startswith("it (fault 1): 2 tools, not connected since ")
    assert any(x.startswith("  echo: 1 call, ") for x in lines)
    gone = lines.index("  pid: never called")
    assert lines[gone + 1].startswith("      gone since 20")
    assert not (project / "started").exists()


def test_a_position_is_a_time_too_and_programs_get_json(capsys: Any):
    _, out, _ = command(capsys, "--at", "1", "--json")
    told = json.loads(out)
    assert [x["name"] for x in told["servers"]] == ["it"]
    assert told["tools"] == []
    _, out, _ = command(capsys, "--at", "2001-01-01")
    assert "Nothing was known then." in out


def test_a_server_that_came_later_was_not_known_then(capsys: Any):
    status, out, err = command(capsys, "old", "--at", "1")
    assert (status, err) == (0, "")
    assert out == "As of event 1:\nNothing was known then.\n"


def test_all_connects_what_it_can_and_tells_the_rest_from_memory(project: Path, capsys: Any):
    status, out, err = command(capsys, "--all")
    assert status == 1
    assert "it (fault 1): connected, " in out
    assert "old (fault 1): " in out
    assert "bad: never connected: " in out
    assert "error: bad: " in err
    assert (project / "started").exists()


def test_a_server_that_is_not_in_the_settings_any_more_is_distinguished_from_memory(capsys: Any):
    status, out, err = command(capsys, "old", "--all", "--json")
    assert (status, err) == (0, "")
    assert {x["state"] for x in json.loads(out)["tools"]} == {"at rest"}


@pytest.mark.parametrize(
    ("words", "status", "hint"),
    [
        (["itt", "--at", "0s"], 1, "Did you mean 'it'?"),
        (["itt", "--all"], 1, "Did you mean 'it'?"),
        (["--at", "soon"], 2, "Or the position of an event"),
    ],
)
def test_what_cannot_be_answered_says_how_to_ask(
    capsys: Any, words: list[str], status: int, hint: str
):
    got, out, err = command(capsys, *words)
    assert (got, out) == (status, "")
    assert hint in " ".join(err.split())


def test_without_settings_and_history_there_is_nothing_to_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for words in (["--at", "0s"], ["--all"]):
        status, out, _ = command(capsys, *words)
        assert status == 0
        assert "Nothing is remembered yet" in out
