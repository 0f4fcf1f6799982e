"""`servers check`, `tools`, `call`, `history` and `disable` over files of functions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.scripts import child_environment
from tests.support.warm_python import warm_python
from xai_mcp_agent.cli.main import run

TOOLS = """
def add(a: int, b: int = 1) -> int:
    '''Add two numbers.'''
    print("adding")
    return a + b

def fail():
    raise ValueError("no soup today")

def hang():
    import time
    while True:
        time.sleep(1)
"""
PROCESS_SECONDS = 60


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """A settings file with one good and one broken file of functions."""
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "broken.py").write_text("def f(:\n", encoding="utf-8")
    entries = {"mine": {"file": "tools.py"}, "broken": {"file": "broken.py"}}
    file = tmp_path / "mcp_settings.json"
    file.write_text(json.dumps({"functions": entries}), encoding="utf-8")
    return file


def command(capsys: pytest.CaptureFixture[str], settings: Path, *words: str) -> tuple[int, str]:
    """Run the command; its exit status, and all that it said."""
    with pytest.raises(SystemExit) as ended:
        run([*words, "--settings", str(settings)])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out + err


def test_servers_reports_files_too(settings: Path, capsys: Any) -> None:
    status, said = command(capsys, settings, "servers", "check")
    assert status == 1
    assert "mine: ready, 3 tools in" in said
    assert " s, python\n" in said
    assert "broken.py, line 1: this is not Python" in said
    assert "Next step: Correct the line" in said


def test_tools_lists_how_to_call_each(settings: Path, capsys: Any) -> None:
    status, said = command(capsys, settings, "tools", "list", "mine")
    assert status == 0
    assert "add(a: integer, b?: integer = 1): Add two numbers." in said


def test_call_prints_the_result_and_nothing_else_on_stdout(settings: Path, capfd: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["call", "mine", "add", "a=2", "--json", "--settings", str(settings)])
    out, err = capfd.readouterr()
    assert (ended.value.code or 0, json.loads(out)["structured"]) == (0, 3)
    assert "adding" in err


def test_a_function_that_fails_has_the_exit_status_of_tools(settings: Path, capsys: Any) -> None:
    status, said = command(capsys, settings, "call", "mine", "fail")
    assert status == 3
    assert "fail failed: ValueError: no soup today (in tools.py, line 8)" in said


def test_the_history_has_them_and_people_decide_about_them(settings: Path, capsys: Any) -> None:
    command(capsys, settings, "call", "mine", "add", "a=1")
    assert command(capsys, settings, "tools", "disable", "mine", "fail")[0] == 0
    assert "add" in command(capsys, settings, "history", "show", "--server", "mine")[1]
    assert command(capsys, settings, "tools", "refresh", "mine")[0] == 0
    assert command(capsys, settings, "tools", "list", "mine", "--all")[0] == 0
    assert "functions:mine" in command(capsys, settings, "history", "graph", "--format", "json")[1]


def test_a_function_that_hangs_does_not_keep_the_command_from_ending(settings: Path) -> None:
    words = ["call", "mine", "hang", "--timeout", "0.5", "--settings", str(settings)]
    code = "import sys; from xai_mcp_agent.cli.main import run; run(sys.argv[1:])"
    done = subprocess.run(
        [warm_python(), "-c", code, *words],
        capture_output=True, text=True, timeout=PROCESS_SECONDS, check=False,
        env=child_environment(settings.parent),
    )  # fmt: skip
    assert done.returncode == 1
    assert "goes on in the background" in done.stderr


def test_what_a_function_writes_to_the_descriptor_of_stdout_breaks_no_json(tmp_path: Path) -> None:
    """As a C library does, or a program that it starts."""
    text = "import os, subprocess\nos.write(1, b'loaded')\n"
    text += "def f() -> int:\n    os.write(1, b'raw')\n    subprocess.run(['echo'])\n    return 7\n"
    (tmp_path / "fun.py").write_text(text, encoding="utf-8")
    file = tmp_path / "mcp_settings.json"
    file.write_text(json.dumps({"functions": {"it": {"file": "fun.py"}}}), encoding="utf-8")
    start = "from xai_mcp_agent.cli.main import run; run()"
    words = ["call", "it", "f", "--json", "--settings", str(file)]
    environment = child_environment(tmp_path, XAI_MCP_TRUST=str(file))
    ended = subprocess.run(
        [sys.executable, "-c", start, *words],
        capture_output=True,
        check=False,
        env=environment,
        timeout=60,
    )
    assert json.loads(ended.stdout)["structured"] == 7, ended.stderr
    assert b"raw" in ended.stderr
