"""Text from strangers is printed without effect on the reader's terminal.

File names, output of learners' workflows and texts of servers may hold anything.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Screen, at_terminal, write_settings
from xai_mcp_agent.cli.output import echo_json, say, say_result

EVIL = "before\x1b[2J\x1b]0;title\x07after\nnext line"
CLEANED = "before?[2J?]0;title?after\nnext line\n"


def test_control_codes_are_replaced_on_a_terminal(monkeypatch: pytest.MonkeyPatch):
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    say(EVIL)
    say_result(EVIL, to_stderr=False)
    assert screen.getvalue() == CLEANED * 2
    screen_text = at_terminal(monkeypatch, "adopt", "\x1b[2Jno.xircuits").getvalue()
    assert "?[2Jno.xircuits cannot be read" in screen_text


def test_a_terminal_wraps_a_line_under_its_text(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdout", screen := Screen())
    say(f"12:00:00  {'word ' * 20}\n  - {'word ' * 20}".rstrip())
    first, second, third, fourth = screen.lines()
    assert (first[:14], second[:14]) == ("12:00:00  word", "          word")
    assert (third[:8], fourth[:8]) == ("  - word", "    word")
    command = "`xai-mcp-agent trust /home/me/mcp_settings.json`"
    say(f"{'word ' * 12}{command} and so on")
    assert any(command in x for x in screen.lines()), "to be copied"


def test_a_pipe_gets_the_text_unchanged(capsys: Any, monkeypatch: pytest.MonkeyPatch):
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


def test_a_terminal_shows_the_awaited_server_and_then_clears_the_line(
    monkeypatch: pytest.MonkeyPatch, folder: Path
):
    """The server starts and stays silent until its time limit."""
    sleeps = {"command": sys.executable, "args": ["-c", "import time; time.sleep(60)"]}
    write_settings(folder, {"mute": {**sleeps, "startTimeout": 1.2}})
    screen = at_terminal(monkeypatch, "tools list").getvalue()
    before, after = re.split(r"\r +\r", screen)
    assert ".. waiting for the server mute: 1 s" in before
    assert ("mute" in after, "waiting" in after) == (True, False)
    screen = at_terminal(monkeypatch, "ask Hello?").getvalue()
    assert ".. waiting for the server mute" in screen
