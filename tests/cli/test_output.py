"""What strangers wrote is printed, and does nothing to the terminal of the person who reads it.

Names of files, what learners' workflows print, and the texts of servers may hold anything.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from xai_mcp_agent.cli.main import run
from xai_mcp_agent.cli.output import echo_json, say, say_result

EVIL = "before\x1b[2J\x1b]0;title\x07after\nnext line"
SEEN = "before?[2J?]0;title?after\nnext line\n"


class Terminal(io.StringIO):
    """A terminal, as far as a program asks."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Have all output go there; called within a test, as pytest sets the streams before it."""
    shown = Terminal()
    monkeypatch.setattr("sys.stdout", shown)
    monkeypatch.setattr("sys.stderr", shown)
    return shown


def test_a_person_sees_a_mark_where_a_code_would_act(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = terminal(monkeypatch)
    say(EVIL)
    say_result(EVIL, to_stderr=False)
    assert shown.getvalue() == SEEN * 2


def test_an_error_about_a_file_names_it_without_its_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = terminal(monkeypatch)
    with pytest.raises(SystemExit):
        run(["adopt", "\x1b[2Jno.xircuits"])
    assert "no file ?[2Jno.xircuits" in shown.getvalue()


def test_json_hides_nothing_from_who_looks_at_it_and_says_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    value = {"a": "caf\xe9 \x9b31m\u202e\U000e0041"}
    echo_json(value)
    out = capsys.readouterr().out
    assert out.isascii()
    assert json.loads(out) == value
    echo_json({"a": "caf\xe9"})
    assert "caf\xe9" in capsys.readouterr().out


def test_a_program_gets_a_result_as_it_came(capsys: pytest.CaptureFixture[str]) -> None:
    say_result("a\tb \x07", to_stderr=False)
    assert capsys.readouterr().out == "a\tb \x07\n"


def test_a_result_for_nobody_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    say_result("text", to_stderr=False)


def test_who_is_waited_for_is_reported_at_a_terminal_and_wiped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A server that starts and says nothing, until its own limit is over."""
    shown = terminal(monkeypatch)
    with pytest.raises(SystemExit):
        run(["tools", "list", "--settings", silent_server(tmp_path)])
    before, wiped, after = shown.getvalue().partition(f"\r{' ' * 79}\r")
    assert ".. waiting for mute: 1 s, at most 1.5 s" in before
    assert wiped
    assert "mute" in after
    assert "waiting" not in after


def test_a_question_tells_whom_it_waits_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shown = terminal(monkeypatch)
    with pytest.raises(SystemExit):
        run(["ask", "Hello?", "--settings", silent_server(tmp_path)])
    assert ".. waiting for the server mute" in shown.getvalue()


def test_a_file_gets_nothing_of_a_wait(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        run(["tools", "list", "--settings", silent_server(tmp_path)])
    out, err = capsys.readouterr()
    assert "\r" not in out + err
    assert "waiting for" not in out + err


def silent_server(folder: Path) -> str:
    """Settings with a server that never answers."""
    sleeps = [sys.executable, "-c", "import time; time.sleep(60)"]
    entry = {"command": sleeps[0], "args": sleeps[1:], "startTimeout": 1.5}
    file = folder / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": {"mute": entry}}), encoding="utf-8")
    return str(file)
