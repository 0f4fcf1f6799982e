"""`servers check` and `call`, against real servers and files of functions."""

from __future__ import annotations

import json
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import AS_A_PROCESS, SERVERS, Cli, write_settings
from tests.support.fault_server import entry
from tests.support.scripts import child_environment
from tests.support.warm_python import warm_python
from xai_mcp_agent.cli.main import run

TOOLS = """
import os, subprocess, time
os.write(1, b"loaded")

def add(a: int, b: int = 1) -> int:
    '''Add two numbers.'''
    print("adding")
    os.write(1, b"raw")
    subprocess.run(["echo"])
    return a + b

def fail():
    raise ValueError("no soup today")

def hang():
    while True:
        time.sleep(0.1)
"""


@pytest.fixture
def functions(folder: Path) -> Path:
    """Settings with a good and a broken file of functions."""
    (folder / "tools.py").write_text(TOOLS, encoding="utf-8")
    (folder / "broken.py").write_text("def f(:\n", encoding="utf-8")
    entries = {"mine": {"file": "tools.py"}, "broken": {"file": "broken.py"}}
    write_settings(folder, {}, functions=entries)
    return folder


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One good, one broken, one disabled and one wrong server."""
    crash = "import sys; print('no licence', file=sys.stderr); sys.exit(3)"
    servers: dict[str, Any] = {
        "units": {"command": warm_python(), "args": [str(SERVERS / "units.py")]},
        "bad": {"command": sys.executable, "args": ["-c", crash]},
        "off": {"command": "x", "disabled": True},
        "unset": {"command": "x", "args": ["${NO_SUCH_VARIABLE_HERE}"]},
    }
    return str(write_settings(tmp_path_factory.mktemp("cli"), servers))


def test_check_shows_the_state_of_each_server_or_why_it_failed(settings: str, cli: Cli):
    status, out, _ = cli("servers check --settings", settings)
    history = str(Path(settings).parent / ".xircuits" / "history.db")
    assert status == 1
    for text in (
        "units: ready, 2 tools in", "stdio, protocol 2026-07-28", "exited with code 3",
        "stderr: no licence", "Next step: Run it by hand", "off: disabled",
        "NO_SUCH_VARIABLE_HERE is not set", f"History: {history}\n",
    ):  # fmt: skip
        assert text in out
    ran = cli("servers check --json --settings", settings)
    by_name = {x["name"]: x for x in ran.json["servers"]}
    assert (ran.status, ran.json["store"]) == (1, {"place": history, "error": ""})
    assert (by_name["units"]["state"], by_name["units"]["tool_count"]) == ("ready", 2)
    assert by_name["bad"]["stderr_tail"] == ["no licence"]
    assert by_name["unset"]["state"] == "disabled"


def test_instructions_of_a_server_are_shortened_and_shown_without_secrets(folder: Path, cli: Cli):
    """The text of a stranger appears on the user's terminal."""
    hostile = "Be kind.\x1b[2J\r\u202e I saw hush-hush-hush-1234. " + "More. " * 9999
    says, quiet = (entry(instructions=x) for x in (hostile, "Nobody hears this."))
    servers = {
        "it": {**says, "env": {"API_TOKEN": "hush-hush-hush-1234"}},
        "off": {**quiet, "instructions": False},
    }
    write_settings(folder, servers)
    _, out, _ = cli("servers check")
    (line,) = [x for x in out.splitlines() if "Be kind." in x]
    assert line.strip().startswith("Instructions: Be kind.")
    assert line.endswith("...")
    assert len(line) < 250
    assert not any(x in out for x in ("\x1b", "\u202e", "hush-hush"))
    assert "    Instructions (not shown to agents): Nobody hears this." in out
    ran = cli("servers check --json")
    by_name = {x["name"]: x for x in ran.json["servers"]}
    assert "hush-hush" not in ran.out
    assert len(by_name["it"]["instructions"]) <= 2000
    assert by_name["off"]["tells_instructions"] is False


def test_call_reads_words_or_a_json_object_and_prints_the_result(settings: str, cli: Cli):
    call = f"call units convert_units --settings {settings}"
    ran = cli(f"{call} value=5 from_unit=mile to_unit=kilometre")
    assert (ran.status, ran.json["result"]) == (0, 8.04672)
    ran = cli(call, '{"value": 1, "from_unit": "km", "to_unit": "m"}', "--json")
    assert (ran.status, ran.json["structured"]["result"]) == (0, 1000)
    ran = cli(f"{call} value=5 from_unit=mile to_unit=kilometr")
    assert (ran.status, ran.out) == (3, "")  # the tool's own error
    assert "Did you mean" in ran.err


def test_wrong_names_and_arguments_are_answered_with_the_nearest_ones(settings: str, cli: Cli):
    for line, hint in (
        ("call unit convert_units", "Known: units"),
        ("call units convert", "Did you mean 'convert_units'?"),
        ("call units convert_units valu=3", "Did you mean 'value'?"),
        ("call units convert_units", '"value" is a required property'),
        ("call units convert_units value", "'value' is not of the form name=value"),
        ("call units convert_units value=1 value=2", "'value' is given twice"),
        ("call units convert_units '{not json}'", "not JSON"),
        ("tools list bda", "Known: bad"),
    ):
        ran = cli(f"{line} --settings {settings}")
        assert (ran.status, hint in ran.err) == (1, True), line


def test_missing_settings_are_reported_with_the_searched_places_and_next_steps(
    folder: Path, cli: Cli
):
    ran = cli("servers check")
    assert ran.status == 1
    assert all(x in ran.text for x in (str(folder), "xai-mcp-agent init", "the URL of a server"))


def test_characters_that_the_terminal_lacks_are_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """Terminals of Windows have a few hundred characters."""
    write_settings(folder, {"it": entry()})
    for option, expected in (("--json", "\\u65e5\\u672c"), ("", "??")):
        screens = [TextIOWrapper(BytesIO(), "cp1252", write_through=True) for _ in range(2)]
        monkeypatch.setattr(sys, "stdout", screens[0])
        monkeypatch.setattr(sys, "stderr", screens[1])
        with pytest.raises(SystemExit) as exit_info:
            run(["call", "it", "echo", "text=\u65e5\u672c", *option.split()])
        out, err = (x.buffer.getvalue().decode("cp1252") for x in screens)
        assert (exit_info.value.code or 0, err, expected in out) == (0, "", True)


def test_the_time_limit_of_the_command_line_is_named_and_a_wrong_one_refused(
    folder: Path, cli: Cli
):
    """The limit in the settings did not end the call, so it is not named."""
    write_settings(folder, {"it": entry()})
    ran = cli("call it never --timeout 0.2")
    assert ran.status == 1
    assert "Give the call more time with `timeout_seconds`" in ran.text
    assert "in the settings" not in ran.text
    for seconds in ("0", "-1", "nan", "inf", "soon"):
        ran = cli(f"call it never --timeout {seconds}")
        assert (ran.status, ran.out) == (2, "")
        assert f"{seconds!r} is not a number of seconds above 0" in ran.err


# Functions


def test_commands_treat_files_of_functions_as_servers(functions: Path, cli: Cli):
    ran = cli("servers check")
    assert ran.status == 1
    assert "mine: ready, 3 tools in" in ran.text
    assert "broken.py, line 1: this is not Python" in ran.text
    assert "Next step: Correct the line" in ran.text
    assert "add(a: integer, b?: integer = 1): Add two numbers." in cli("tools list mine").out
    ran = cli("call mine fail")
    assert ran.status == 3
    assert "fail failed: ValueError: no soup today (in tools.py, line 13)" in ran.text
    assert "fail" in cli("history show --server mine").out
    assert cli("tools disable mine fail").status == 0
    assert "functions:mine" in cli("history graph --format json").out


def test_a_function_that_prints_or_hangs_breaks_neither_json_nor_the_command(
    functions: Path, cli: Cli
):
    """Output through the descriptor, as of a C library or a child process, needs a process."""
    process = subprocess.run(
        [sys.executable, *AS_A_PROCESS, "call", "mine", "add", "a=2", "--json"],
        env=child_environment(functions, XAI_MCP_TRUST="1"),
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert json.loads(process.stdout)["structured"] == 3, process.stderr
    assert all(x in process.stderr for x in ("raw", "adding"))
    ran = cli("call mine hang --timeout 0.2")
    assert (ran.status, "goes on in the background" in ran.err) == (1, True)
