"""`xai-mcp-agent trust`, and commands on a settings file that nobody agreed to yet."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.terminals import Terminal, terminal
from tests.support.warm_python import warm_python
from xai_mcp_agent.cli.init import init_folder
from xai_mcp_agent.cli.main import run
from xai_mcp_agent.settings.load import load_settings
from xai_mcp_agent.settings.trust import TrustStore


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One who has agreed to nothing yet."""
    for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.delenv("XAI_MCP_TRUST")


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """A folder of somebody else, whose server leaves a file when it is started."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    code = f"open({str(folder / 'started')!r}, 'w')"
    server = {"command": sys.executable, "args": ["-c", code, "--token", "abc-secret-word"]}
    file = folder / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": {"theirs": server}}))
    return file


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        run(words)
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), " ".join((out + err).split())


def in_terminal(*words: str, folder: Path):
    home = folder.parent / "home"
    code = "from xai_mcp_agent.cli.main import run; run()"
    return terminal(
        warm_python(),
        "-c",
        code,
        *words,
        folder=folder,
        XAI_MCP_TRUST="",
        XDG_CONFIG_HOME=str(home),
    )


def shown_question(screen: Terminal) -> str:
    return screen.expect("Start them? (yes or no")


def test_at_a_terminal_it_is_asked_once(stranger: Path) -> None:
    folder = stranger.parent
    with in_terminal("servers", "check", folder=folder) as screen:
        told = shown_question(screen)
        assert "-c" in told
        assert "secret-word" not in told
        screen.type("yes")
        screen.expect("theirs:")
        screen.end()
    assert (folder / "started").exists()
    with in_terminal("servers", "check", folder=folder) as screen:
        screen.end()
        assert "Start them?" not in screen.text


def test_a_no_starts_nothing(stranger: Path) -> None:
    with in_terminal("servers", "check", folder=stranger.parent) as screen:
        shown_question(screen)
        screen.type("no")
        assert screen.end() == 1
        assert "xai-mcp-agent trust" in screen.text
    assert not (stranger.parent / "started").exists()


def test_trust_shows_what_it_is_about_and_wants_a_yes(
    stranger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, told = command(capsys, "trust", str(stranger))
    assert status == 1
    assert "mcpServers.theirs" in told
    assert "secret-word" not in told
    assert "--yes" in told
    status, told = command(capsys, "trust", str(stranger), "--yes")
    assert (status, "Trusted" in told) == (0, True)
    assert command(capsys, "trust", "--list") == (0, str(stranger))
    assert command(capsys, "trust", str(stranger), "--withdraw")[0] == 0
    assert TrustStore().untrusted_parts(load_settings(stranger))


def test_trust_for_a_program_asks_nobody_and_agrees_only_with_a_yes(
    stranger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*words: str) -> tuple[int, dict[str, Any]]:
        status, out = command(capsys, "trust", str(stranger), "--json", *words)
        return status, json.loads(out)

    status, told = said()
    assert (status, told["trusted"]) == (1, False)
    assert [x["key_path"] for x in told["waiting"]] == ["mcpServers.theirs"]
    assert TrustStore().untrusted_parts(load_settings(stranger))
    status, told = said("--yes")
    assert (status, told["trusted"], len(told["agreed"])) == (0, True, 1)
    assert not TrustStore().untrusted_parts(load_settings(stranger))
    assert said() == (0, {"file": str(stranger), "trusted": True, "agreed": []})
    status, told = said("--withdraw")
    assert (status, told["trusted"], told["withdrawn"]) == (0, False, True)
    assert TrustStore().untrusted_parts(load_settings(stranger))


def test_trust_is_asked_at_the_terminal_as_everything_is(stranger: Path) -> None:
    with in_terminal("trust", folder=stranger.parent) as screen:
        screen.expect("Trust it? (yes or no): ")
        screen.type("perhaps")
        screen.expect("Type yes or no.")
        screen.type("yes")
        screen.expect("Trusted.")
        assert screen.end() == 0


def test_init_trusts_what_it_writes_and_no_file_that_was_there(tmp_path: Path) -> None:
    ours = init_folder(tmp_path / "ours").folder / "mcp_settings.json"
    assert not TrustStore().untrusted_parts(load_settings(ours))
    for name in ("examples/servers/library.py", "mcp_settings.json"):
        theirs = tmp_path / Path(name).stem
        (theirs / name).parent.mkdir(parents=True)
        (theirs / name).write_text('{"mcpServers": {"x": {"command": "y"}}}')
        init_folder(theirs)
        assert TrustStore().untrusted_parts(load_settings(theirs / "mcp_settings.json")), name
