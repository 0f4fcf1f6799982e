"""What all commands have in common, over a table that has each of them: the frame's contract."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tools.command_line import commands
from xai_mcp_agent.cli.main import run

_COLUMNS = 80
LEAVES = {" ".join(x): y for x, y in commands().items() if not hasattr(y, "commands")}

# The least that each needs, and whether it starts the server of the settings.
STARTS, READS, MAKES = "starts", "reads", "makes"
TABLE = {
    "init": (MAKES, "new"),
    "ask": (STARTS, "anything"),
    "call": (STARTS, "theirs x"),
    "serve": (READS, "--status"),
    "trust": (READS, ""),
    "login": (STARTS, "theirs"),
    "logout": (STARTS, "theirs"),
    "adopt": (MAKES, "none.xircuits"),
    "search": (STARTS, "anything"),
    "servers list": (READS, ""),
    "servers check": (STARTS, ""),
    "servers add": (MAKES, "mine --no-check -- some-server"),
    "servers remove": (MAKES, "theirs"),
    "servers discover": (MAKES, ""),
    "tools list": (STARTS, "theirs"),
    "tools explain": (STARTS, "theirs x"),
    "tools select": (STARTS, "anything"),
    "tools suggest": (STARTS, "theirs/x"),
    "tools enable": (STARTS, "theirs x"),
    "tools disable": (STARTS, "theirs x"),
    "tools accept": (STARTS, "theirs"),
    "tools approve": (STARTS, "theirs x"),
    "tools refresh": (STARTS, "theirs"),
    "tools usage": (READS, ""),
    "plan make": (STARTS, "anything"),
    "plan run": (STARTS, "plan.json"),
    "plan approve": (MAKES, "run.json"),
    "plan check": (STARTS, "plan.json"),
    "plan draw": (READS, ""),
    "history show": (READS, ""),
    "history diff": (READS, ""),
    "history stats": (READS, ""),
    "history graph": (READS, ""),
    "history prune": (READS, ""),
    "rules check": (STARTS, "theirs"),
    "rules why": (STARTS, "theirs x"),
    "rules list": (STARTS, ""),
    "rules put": (STARTS, "rules.json"),
    "rules remove": (STARTS, "mine"),
    "registry sync": (READS, "nowhere"),
    "registry search": (READS, "anything"),
    "registry show": (READS, "nobody/nothing --offline"),
    "registry add": (READS, "nobody/nothing --offline"),
    "workshop check": (MAKES, "."),
    "workshop reset": (MAKES, "1 ."),
    "workshop solution": (MAKES, "1 ."),
}
AT_ONCE = [x for x, (kind, _) in TABLE.items() if kind != MAKES]
STARTING = [x for x, (kind, _) in TABLE.items() if kind == STARTS]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a person who has agreed to nothing yet."""
    for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.delenv("XAI_MCP_TRUST", raising=False)
    folder = tmp_path / "theirs"
    folder.mkdir()
    plan = {"calls": [{"tool": "theirs/x", "args": {}}]}
    (folder / "plan.json").write_text(json.dumps(plan))
    rule = {"name": "mine", "when": {"tool": "x"}, "then": "deny"}
    (folder / "rules.json").write_text(json.dumps([rule]))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def strange(folder: Path) -> Path:
    """The same with settings of somebody else, whose server leaves a file when it is started."""
    code = f"open({str(folder / 'started')!r}, 'w')"
    server = {"command": sys.executable, "args": ["-c", code]}
    settings = {"mcpServers": {"theirs": server}, "registries": {"official": False}}
    (folder / "mcp_settings.json").write_text(json.dumps(settings))
    return folder


def typed(capsys: Any, *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        run(words)
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def words_of(command: str) -> list[str]:
    return [*command.split(), *shlex.split(TABLE[command][1])]


def test_the_table_has_every_command() -> None:
    assert LEAVES.keys() == TABLE.keys()


@pytest.mark.parametrize("command", STARTING)
def test_nothing_starts_before_somebody_agreed(strange: Path, capsys: Any, command: str) -> None:
    """Where nobody can be asked, the error says what to run; with --json it is on stdout."""
    status, out, err = typed(capsys, *words_of(command))
    assert (status, out) == (1, "")
    assert f"xai-mcp-agent trust {strange}" in " ".join(err.split())
    status, out, err = typed(capsys, *words_of(command), "--json")
    assert (status, list(json.loads(out)), err) == (1, ["error"], "")
    assert not (strange / "started").exists()


@pytest.mark.parametrize("command", [x for x in AT_ONCE if x not in STARTING])
def test_what_only_reads_prints_json_and_starts_nothing(
    strange: Path, capsys: Any, command: str
) -> None:
    status, out, _ = typed(capsys, *words_of(command), "--json")
    assert status in (0, 1)
    assert json.loads(out) is not None
    assert not (strange / "started").exists()


@pytest.mark.parametrize("command", AT_ONCE)
def test_without_settings_there_is_json_and_a_status(
    folder: Path, capsys: Any, command: str
) -> None:
    status, out, _ = typed(capsys, *words_of(command), "--json")
    assert status in (0, 1)
    assert ("error" in json.loads(out)) <= (status == 1)


@pytest.mark.parametrize("command", LEAVES)
def test_an_option_that_there_is_not_is_wrong_usage(capsys: Any, command: str) -> None:
    status, out, err = typed(capsys, *command.split(), "--nonsense", *words_of(command)[2:])
    assert (status, out) == (2, "")
    assert f"xai-mcp-agent {command} --help" in err


@pytest.mark.parametrize("command", [x for x in STARTING if "theirs" in TABLE[x][1].split()])
def test_a_name_that_is_empty_is_wrong_usage(strange: Path, capsys: Any, command: str) -> None:
    """A variable of the shell that is not set gives one; without a name they are about all."""
    words = ["" if x == "theirs" else x for x in words_of(command)]
    status, out, err = typed(capsys, *words)
    assert (status, out) == (2, "")
    assert "The name of a server is empty" in err or "Name a server" in err


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_help_fits_and_has_words_of_people(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = io.StringIO()
    monkeypatch.setattr("sys.stdout", shown)
    with pytest.raises(SystemExit):
        run([*words, "--help"])
    text = shown.getvalue()
    assert max(map(len, text.splitlines())) <= _COLUMNS
    assert not re.search(r"<\w|list\[|int range|(?m:^Usage.*[{}])", text)
    listed = text.partition("Commands:")[2]
    assert "..." not in listed
