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
from tests.support.warm_python import python_entry
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
    clock = {"clock": {"tools": ["current_time"]}}
    write_settings(folder, {}, functions=entries, builtin=clock)
    return folder


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One good, one broken, one disabled and one wrong server."""
    servers: dict[str, Any] = {
        "units": python_entry(SERVERS / "units.py"),
        "bad": entry(stderr="no licence", exit=3),
        "off": {"command": "x", "disabled": True},
        "unset": {"command": "x", "args": ["${NO_SUCH_VARIABLE_HERE}"]},
    }
    return str(write_settings(tmp_path_factory.mktemp("cli"), servers))


def test_check_shows_the_state_of_each_server_or_why_it_failed(settings: str, cli: Cli):
    cli("servers check --settings", settings).shows(
        "units: ready, 2 tools in", "stdio, protocol 2026-07-28", "exited with code 3",
        "stderr: no licence", "Next step: Run it by hand", "off: disabled",
        "NO_SUCH_VARIABLE_HERE is not set",
        f"History: {Path(settings).parent / '.xircuits' / 'history.db'}", status=1,
    )  # fmt: skip


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
    assert "hush-hush" not in ran.out
    assert len(ran.json["servers"][0]["instructions"]) <= 2000


def test_call_reads_words_or_a_json_object_and_prints_the_result(settings: str, cli: Cli):
    call = f"call units convert_units --settings {settings}"
    ran = cli(f"{call} value=5 from_unit=mile to_unit=kilometre")
    assert (ran.status, ran.json["result"]) == (0, 8.04672)
    ran = cli(call, '{"value": 1, "from_unit": "km", "to_unit": "m"}')
    assert (ran.status, ran.json["result"]) == (0, 1000)
    cli(f"{call} value=5 from_unit=mile to_unit=kilometr").fails("Did you mean", status=3)


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
        cli(f"{line} --settings {settings}").fails(hint)


def test_missing_settings_are_reported_with_the_searched_places_and_next_steps(
    folder: Path, cli: Cli
):
    cli("servers check").fails(str(folder), "xai-mcp-agent init", "the URL of a server")


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
    ran = cli("call it never --timeout 0.2").fails("Give the call more time with `timeout_seconds`")
    assert "in the settings" not in ran.err
    for seconds in ("0", "-1", "nan", "inf", "soon"):
        says = f"{seconds!r} is not a number of seconds above 0"
        cli(f"call it never --timeout {seconds}").fails(says, status=2)


def test_a_call_that_fails_without_a_word_is_not_an_empty_line(folder: Path, cli: Cli):
    """FastMCP sends an empty text for `raise ToolError("")`."""
    failure = {"content": [{"type": "text", "text": ""}], "isError": True}
    write_settings(folder, {"it": entry(on={"tools/call": [["reply", failure]]})})
    cli("call it echo text=a").fails("The tool failed without saying why.", status=3)


# Functions


def test_commands_treat_files_of_functions_as_servers(functions: Path, cli: Cli):
    cli("servers check").shows(
        "mine: ready, 3 tools in", "clock: ready, 1 tool in",
        "broken.py, line 1: this is not Python", "Next step: Correct the line", status=1,
    )  # fmt: skip
    cli("tools list mine").shows("add(a: integer, b?: integer = 1): Add two numbers.")
    failure = "fail failed: ValueError: no soup today (in tools.py, line 13)"
    cli("call mine fail").fails(failure, status=3)
    cli("history show --server mine").shows("fail")
    cli("tools disable mine fail").shows()
    cli("history graph --format json").shows("functions:mine")


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
    cli("call mine hang --timeout 0.2").fails("goes on in the background")
