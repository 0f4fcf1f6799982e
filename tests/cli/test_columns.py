"""What a person sees at a terminal: no line is longer than it is wide, if it can be folded."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.cli.test_servers import SERVERS
from tests.support.warm_python import warm_python
from xai_mcp_agent.cli.main import run
from xai_mcp_agent.cli.output import folded, say

_COLUMNS = 80
_CODE = re.compile(r"\x1b\[[\d;]*m")


class Terminal(io.StringIO):
    """A terminal, as far as a program asks."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Servers that work, fail, and are wrong; all named and told at length."""
    crash = "import sys; print('no licence ' * 20, file=sys.stderr); sys.exit(3)"
    servers = {
        "units": {"command": warm_python(), "args": [str(SERVERS / "units.py")]},
        "library": {"command": warm_python(), "args": [str(SERVERS / "library.py")]},
        "bad": {"command": sys.executable, "args": ["-c", crash]},
        "unset": {"command": "x", "args": ["${NO_SUCH_VARIABLE_HERE}"], "nonsense": 1},
    }
    file = tmp_path / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return file


@pytest.mark.parametrize(
    "words",
    [
        "servers check --descriptions",
        "tools list",
        "tools list --all",
        "tools list librari",
        "tools list units --limit 3 --all",
        "search 'borrow a book'",
        "search 'borrow a book' --limit 0",
        "tools explain library borrow_book",
        "tools explain library borrow_book --request 'lend Emma'",
        "tools select 'lend Emma'",
        "tools suggest library/search_books",
        "plan make 'Lend Moby-Dick to Ada'",
        "call library search_book",
        "call library search_books querie=sea",
        "ask 'Convert 5 miles to kilometres' --show normal",
        "ask 'Who wrote it?' --server library --show quiet",
        "servers add more -- no-such-program --with --options",
        "servers remove more",
        "servers discover",
        "tools refresh units",
        "tools disable library borrow_book",
        "tools accept library",
        "tools approve --list",
        "rules list",
        "rules why library borrow_book",
        "history show",
        "history stats",
        "tools usage",
        "history diff",
        "trust mcp_settings.json",
        "tools list no_such_file.json",
        "registry search x --registry no_such_registry",
        "adopt no_such_file.xircuits",
        "plan draw no_such_file.jsonl",
        "plan run no_such_plan.json",
        "plan check no_such_file.xircuits",
        "workshop check",
        "login library",
        "nonsense",
        "servers check --nonsense",
    ],
)
def test_no_line_is_longer_than_a_terminal(
    settings: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    lines = seen(monkeypatch, words)
    assert lines
    for line in lines:
        assert len(line) <= _COLUMNS or is_whole(line), line


def test_a_program_gets_lines_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    say("word " * 40)
    assert capsys.readouterr().out == "word " * 40 + "\n"


def test_a_command_to_copy_stays_in_one_line() -> None:
    told = f"{'word ' * 12}`xai-mcp-agent trust /home/me/mcp_settings.json` and so on"
    assert any("`xai-mcp-agent trust /home/me/mcp_settings.json`" in x for x in folded(told))


def seen(monkeypatch: pytest.MonkeyPatch, words: str) -> list[str]:
    """What stands on a terminal when this was typed."""
    shown = Terminal()
    monkeypatch.setattr("sys.stdout", shown)
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(SystemExit):
        run(shlex.split(words))
    return _CODE.sub("", shown.getvalue()).splitlines()


def is_whole(line: str) -> bool:
    """Whether it must not be folded: one word, as a path is, a command to copy, or JSON."""
    return len(line.split()) == 1 or line.lstrip().startswith(("xai-mcp-agent ", '"'))
