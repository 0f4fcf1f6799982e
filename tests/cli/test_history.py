"""`xai-mcp-agent history show`, over a history that real servers left behind."""

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
    """A folder with settings, and the history of two servers that were used."""
    folder = tmp_path_factory.mktemp("project")
    servers = {"it": entry(), "other": entry()}
    (folder / "mcp_settings.json").write_text(json.dumps({"mcpServers": servers}))
    with Bridge.open(folder / "mcp_settings.json") as bridge:
        for text in ("a", "b", "c"):
            bridge.call_tool("it", "echo", {"text": text})
        bridge.list_tools("other")
    return folder


@pytest.fixture(autouse=True)
def _there(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XAI_MCP_STORE", raising=False)
    monkeypatch.delenv("XAI_MCP_SETTINGS", raising=False)
    monkeypatch.chdir(project)


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run the command; its exit status, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        run(words)
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_the_history_reads_well_in_eighty_columns(capsys: Any):
    status, out, err = command(capsys, "history", "show", "--server", "it")
    lines = out.splitlines()
    assert (status, err) == (0, "")
    assert max(map(len, lines)) <= 80
    told = [x[10:] for x in lines]
    assert told[1].startswith("it: connected for the first time over stdio (")
    assert any(x.startswith("it.echo: called 3 times") for x in told)
    assert any(x.startswith("it: disconnected, with 19 tools: ") for x in told)
    assert not any("other" in x for x in told)


def test_programs_get_every_event_as_json(capsys: Any):
    status, out, _ = command(capsys, "history", "show", "--tool", "echo", "--limit", "2", "--json")
    events = json.loads(out)
    assert status == 0
    assert [(x["change"], x["tool"]) for x in events] == [("unavailable", "echo")] * 2
    gone = [x for event in events for x in event["contradicts"]]
    assert sorted(gone) == ["mcp_tool:it_echo", "mcp_tool:other_echo"]


def test_older_events_are_left_out_and_said_to_be(capsys: Any):
    _, out, _ = command(capsys, "history", "show", "--limit", "1")
    assert out.startswith("The newest line; --limit shows more")
    _, out, _ = command(capsys, "history", "show", "--since", "2099-01-01")
    assert out.startswith("Nothing happened")
    _, out, _ = command(
        capsys, "history", "show", "--since", "1h", "--server", "it", "--limit", "1000"
    )
    assert "called 3 times" in out


@pytest.mark.parametrize(
    ("words", "status", "hint"),
    [
        (["--since", "soon"], 2, "Write 2h or 3d"),
        (["--limit", "0"], 2, "--limit"),
        (["--server", "othr"], 1, "Did you mean 'other'?"),
        (["--tool", "ecko"], 1, "Did you mean 'echo'?"),
        (["--store", "no.db"], 1, "no such file"),
        (["--store", "mysql://x/y"], 1, "postgresql://"),
    ],
)
def test_what_cannot_be_answered_says_how_to_ask(
    capsys: Any, words: list[str], status: int, hint: str
):
    got, out, err = command(capsys, "history", "show", *words)
    assert (got, out) == (status, "")
    assert hint in err


def test_a_folder_without_settings_may_have_a_history_or_be_shown_another(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    """Nothing is made where there is none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    status, out, _ = command(capsys, "history", "show")
    assert status == 0
    assert "Nothing is remembered yet" in out
    assert command(capsys, "history", "show", "--json")[1] == "[]\n"
    assert [*tmp_path.iterdir()] == []
    (tmp_path / ".xircuits").symlink_to(project / ".xircuits")
    assert "called 3 times" in command(capsys, "history", "show")[1]
    store = str(project / ".xircuits" / "history.db")
    (tmp_path / ".xircuits").unlink()
    assert "called 3 times" in command(capsys, "history", "show", "--store", store)[1]


def test_no_server_is_started_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    mark = tmp_path / "started"
    server = {"command": "touch", "args": [str(mark)]}
    (tmp_path / "mcp_settings.json").write_text(json.dumps({"mcpServers": {"it": server}}))
    monkeypatch.chdir(tmp_path)
    with Bridge.open() as bridge:
        bridge.connect(wait=True)
    mark.unlink()
    _, out, _ = command(capsys, "history", "show")
    assert "it: failed" in out
    assert not mark.exists()
