"""What strangers wrote is printed, and does nothing to the terminal of the person who reads it.

Names of files, what learners' workflows print, and the texts of servers may hold anything.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Screen, at_terminal, write_settings
from xai_mcp_agent.cli.output import echo_json, replace_text, say, say_result

EVIL = "before\x1b[2J\x1b]0;title\x07after\nnext line"
SEEN = "before?[2J?]0;title?after\nnext line\n"


def test_a_person_sees_a_mark_where_a_code_would_act(monkeypatch: pytest.MonkeyPatch):
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    say(EVIL)
    say_result(EVIL, to_stderr=False)
    assert screen.getvalue() == SEEN * 2
    shown = at_terminal(monkeypatch, "adopt", "\x1b[2Jno.xircuits").getvalue()
    assert "no file ?[2Jno.xircuits" in shown


def test_a_program_gets_all_as_it_came(capsys: Any, monkeypatch: pytest.MonkeyPatch):
    say_result("a\tb \x07", to_stderr=False)
    assert capsys.readouterr().out == "a\tb \x07\n"
    say("word " * 40)
    assert capsys.readouterr().out == "word " * 40 + "\n"
    echo_json({"a": "caf\xe9 \x9b31m\u202e\U000e0041"})
    out = capsys.readouterr().out
    assert out == '{\n  "a": "caf\\u00e9 \\u009b31m\\u202e\\udb40\\udc41"\n}\n'
    echo_json({"a": "caf\xe9"})
    assert "caf\xe9" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdout", None)
    say_result("for nobody", to_stderr=False)


def test_a_terminal_shows_which_server_is_awaited_and_wipes_the_line(
    monkeypatch: pytest.MonkeyPatch, folder: Path
):
    """A server that starts and says nothing, until its own limit is over."""
    sleeps = {"command": sys.executable, "args": ["-c", "import time; time.sleep(60)"]}
    write_settings(folder, {"mute": {**sleeps, "startTimeout": 1.2}})
    screen = at_terminal(monkeypatch, "tools list").getvalue()
    before, after = re.split(r"\r +\r", screen)
    assert ".. waiting for the server mute: 1 s" in before
    assert ("mute" in after, "waiting" in after) == (True, False)
    screen = at_terminal(monkeypatch, "ask Hello?").getvalue()
    assert ".. waiting for the server mute" in screen


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path):
    file = tmp_path / "settings.json"
    file.write_text("{}")
    file.chmod(0o600)
    replace_text(file, "[]")
    assert (file.stat().st_mode & 0o777, file.read_text()) == (0o600, "[]")
