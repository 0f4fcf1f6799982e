"""The contract that all commands share, tested over a table of all of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.commands import Cli, at_terminal
from tools.command_line import commands

_COLUMNS = 80
LEAVES = {" ".join(x): y for x, y in commands().items() if not hasattr(y, "commands")}

# The shortest valid arguments of each command, and whether it starts the settings' server.
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
STARTING = [x for x, (kind, _) in TABLE.items() if kind == STARTS]


@pytest.fixture
def strange(stranger: Path) -> Path:
    """A folder of somebody else, with a plan and rules."""
    plan = {"calls": [{"tool": "theirs/x", "args": {}}]}
    (stranger / "plan.json").write_text(json.dumps(plan))
    rule = {"name": "mine", "when": {"tool": "x"}, "then": "deny"}
    (stranger / "rules.json").write_text(json.dumps([rule]))
    return stranger


def line_of(command: str) -> str:
    return f"{command} {TABLE[command][1]}"


def is_whole(line: str) -> bool:
    """Return whether a line must not be wrapped: a single word, a command to copy, or JSON."""
    return len(line.split()) == 1 or line.lstrip().startswith(("xai-mcp-agent ", '"'))


def long_lines(lines: list[str]) -> list[str]:
    return [x for x in lines if len(x) > _COLUMNS and not is_whole(x)]


def test_the_table_has_every_command():
    assert LEAVES.keys() == TABLE.keys()


@pytest.mark.parametrize("command", STARTING)
def test_no_server_starts_before_the_user_agrees(strange: Path, cli: Cli, command: str):
    """Without a terminal the error says what to run; with --json it is on stdout."""
    cli(line_of(command)).fails(f"xai-mcp-agent trust {strange}")
    ran = cli(f"{line_of(command)} --json")
    assert (ran.status, list(ran.json), ran.err) == (1, ["error"], "")
    assert not (strange / "started").exists()


@pytest.mark.parametrize("command", LEAVES)
def test_every_command_keeps_the_common_contract(
    strange: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, command: str
):
    """--json prints JSON; exit statuses, empty names and line lengths are the same everywhere."""
    kind, words = TABLE[command]
    cli(f"{command} --nonsense {words}").fails(f"xai-mcp-agent {command} --help", status=2)
    if command != "init":
        assert long_lines(at_terminal(monkeypatch, line_of(command)).lines()) == []
    if kind == MAKES:
        return
    if kind == STARTS and "theirs" in words.split():
        empty = cli(" ".join("''" if x == "theirs" else x for x in line_of(command).split()))
        assert re.search("The name of a server is empty|Name a server", empty.fails(status=2).text)
    # Commands that start servers are tested with settings above.
    for has_settings in (False,) if kind == STARTS else (True, False):
        if not has_settings:
            (strange / "mcp_settings.json").unlink()
        ran = cli(f"{line_of(command)} --json")
        assert ran.status in (0, 1)
        assert ("error" in ran.json) <= (ran.status == 1), has_settings
    assert not (strange / "started").exists()


def test_unreadable_settings_are_reported_with_the_place(folder: Path, cli: Cli):
    (folder / "mcp_settings.json").write_text('{"mcpServers": {"a": }')
    for command in ("servers check", "tools list", "history show"):
        cli(command).fails("at line 1, column 22: this is not JSON")


def test_help_fits_eighty_columns_and_has_plain_words(cli: Cli):
    for words in commands():
        text = cli(" ".join(words), "--help").out
        assert max(map(len, text.splitlines())) <= _COLUMNS, words
        assert not re.search(r"<\w|list\[|int range|(?m:^Usage.*[{}])", text), words
        assert "..." not in text.partition("Commands:")[2], words


def test_a_shell_completes_words(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("_XAI_MCP_AGENT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "xai-mcp-agent tools re")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert cli("").out.split() == ["refresh"]
