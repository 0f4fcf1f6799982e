"""`xai-mcp-agent servers check`, `tools` and `call`, against real servers over stdio."""

from __future__ import annotations

import json
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from tests.support import fault_server
from tests.support.warm_python import warm_python
from xai_mcp_agent import InvalidArguments, Tool, ToolKey
from xai_mcp_agent.cli.call import read_arguments
from xai_mcp_agent.cli.main import run

FAULT_SERVER = Path(fault_server.__file__)
SERVERS = Path(__file__).parents[2] / "examples" / "servers"


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A settings file with one good, one broken, one disabled and one wrong server."""
    crash = "import sys; print('no licence', file=sys.stderr); sys.exit(3)"
    servers = {
        "units": {"command": warm_python(), "args": [str(SERVERS / "units.py")]},
        "bad": {"command": sys.executable, "args": ["-c", crash]},
        "off": {"command": "x", "disabled": True},
        "unset": {"command": "x", "args": ["${NO_SUCH_VARIABLE_HERE}"]},
    }
    file = tmp_path_factory.mktemp("cli") / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run the command; its exit status, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        run(words)
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_servers_shows_each_with_its_state_or_its_reason(settings: Path, capsys: Any):
    status, out, _ = command(capsys, "servers", "check", "--settings", str(settings))
    assert status == 1
    assert "units: ready, 2 tools in" in out
    assert "stdio, protocol 2026-07-28" in out
    assert "exited with code 3" in out
    assert "stderr: no licence" in out
    assert "Next step: Run it by hand" in out
    assert "off: disabled" in out
    assert "NO_SUCH_VARIABLE_HERE is not set" in out
    assert f"History: {settings.parent / '.xircuits' / 'history.db'}\n" in out


def test_servers_as_json_has_the_same_facts(settings: Path, capsys: Any):
    status, out, _ = command(capsys, "servers", "check", "--json", "--settings", str(settings))
    shown = {x["name"]: x for x in json.loads(out)["servers"]}
    store = {"place": str(settings.parent / ".xircuits" / "history.db"), "error": ""}
    assert (status, json.loads(out)["store"]) == (1, store)
    assert (shown["units"]["state"], shown["units"]["tool_count"]) == ("ready", 2)
    assert shown["bad"]["stderr_tail"] == ["no licence"]
    assert shown["unset"]["state"] == "disabled"


def test_servers_shows_what_each_says_of_itself_without_secrets_and_cut(
    tmp_path: Path, capsys: Any
):
    """It is a stranger's text, on a person's terminal."""
    hostile = "Be kind.\x1b[2J\r\u202e I saw hush-hush-hush-1234. " + "More. " * 9999
    says, quiet = (fault_server.entry(instructions=x) for x in (hostile, "Nobody hears this."))
    servers = {
        "it": {**says, "env": {"API_TOKEN": "hush-hush-hush-1234"}},
        "off": {**quiet, "instructions": False},
    }
    file = tmp_path / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    status, out, _ = command(capsys, "servers", "check", "--settings", str(file))
    assert status == 0
    (line,) = [x for x in out.splitlines() if "Be kind." in x]
    assert line.strip().startswith("Instructions: Be kind.")
    assert line.endswith("...")
    assert len(line) < 250
    assert not any(x in out for x in ("\x1b", "\u202e", "hush-hush"))
    assert "    Instructions (agents are not told): Nobody hears this." in out
    _, out, _ = command(capsys, "servers", "check", "--json", "--settings", str(file))
    shown = {x["name"]: x for x in json.loads(out)["servers"]}
    assert "hush-hush" not in out
    assert len(shown["it"]["instructions"]) <= 2000
    assert shown["off"]["tells_instructions"] is False


def test_tools_lists_how_to_call_each(settings: Path, capsys: Any):
    status, out, _ = command(capsys, "tools", "list", "units", "--settings", str(settings))
    assert status == 0
    assert "convert_units(value: number, from_unit: string, to_unit: string):" in out


def test_tools_of_all_servers_go_on_past_a_bad_one(settings: Path, capsys: Any):
    status, out, _ = command(capsys, "tools", "list", "--json", "--settings", str(settings))
    shown = json.loads(out)
    assert status == 1
    assert [x["name"] for x in shown["tools"]["units"]] == ["convert_units", "list_units"]
    assert "no licence" in shown["failed"]["bad"]
    assert "NO_SUCH_VARIABLE_HERE" in shown["failed"]["unset"]
    assert "off" not in shown["failed"]


def test_call_reads_words_as_the_schema_wants_and_prints_the_result(settings: Path, capsys: Any):
    words = ["value=5", "from_unit=mile", "to_unit=kilometre", "--settings", str(settings)]
    status, out, _ = command(capsys, "call", "units", "convert_units", *words)
    assert status == 0
    assert json.loads(out)["result"] == 8.04672


def test_call_takes_one_json_object_and_prints_json(settings: Path, capsys: Any):
    arguments = '{"value": 1, "from_unit": "km", "to_unit": "m"}'
    words = [arguments, "--json", "--settings", str(settings)]
    status, out, _ = command(capsys, "call", "units", "convert_units", *words)
    assert status == 0
    assert json.loads(out)["structured"]["result"] == 1000


def test_a_tool_that_fails_has_an_exit_status_of_its_own(settings: Path, capsys: Any):
    words = ["value=5", "from_unit=mile", "to_unit=kilometr", "--settings", str(settings)]
    status, out, err = command(capsys, "call", "units", "convert_units", *words)
    assert (status, out) == (3, "")
    assert "Did you mean" in err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["call", "unit", "convert_units"], "Known: units"),
        (["call", "units", "convert"], "Did you mean 'convert_units'?"),
        (["call", "units", "convert_units", "valu=3"], "Did you mean 'value'?"),
        (["call", "units", "convert_units", "value=1", "value=2"], "'value' is given twice"),
        (["call", "units", "convert_units"], '"value" is a required property'),
        (["tools", "list", "bda"], "Known: bad"),
    ],
)
def test_wrong_names_are_answered_with_the_nearest(
    settings: Path, capsys: Any, words: list[str], hint: str
):
    status, _, err = command(capsys, *words, "--settings", str(settings))
    assert status == 1
    assert hint in err


def test_no_settings_file_says_where_it_looked_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XAI_MCP_SETTINGS", raising=False)
    status, _, err = command(capsys, "servers", "check")
    assert status == 1
    assert str(tmp_path) in err
    assert "xai-mcp-agent init" in err


@pytest.mark.parametrize(("option", "shown"), [("--json", "\\u65e5\\u672c"), ("", "??")])
def test_what_the_terminal_cannot_show_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, shown: str
):
    """Windows' terminals know a few hundred letters."""
    server = {"command": sys.executable, "args": ["-S", str(FAULT_SERVER)]}
    (tmp_path / "mcp_settings.json").write_text(json.dumps({"mcpServers": {"it": server}}))
    words = ["call", "it", "echo", "text=\u65e5\u672c", *option.split()]
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XAI_MCP_SETTINGS", raising=False)
    screens = [TextIOWrapper(BytesIO(), "cp1252", write_through=True) for _ in range(2)]
    monkeypatch.setattr(sys, "stdout", screens[0])
    monkeypatch.setattr(sys, "stderr", screens[1])
    with pytest.raises(SystemExit) as ended:
        run(words)
    out, err = (x.buffer.getvalue().decode("cp1252") for x in screens)
    assert (ended.value.code or 0, err) == (0, "")
    assert shown in out


def test_wrong_usage_has_exit_status_2(capsys: Any):
    assert command(capsys, "call")[0] == 2


KINDS = {"n": "integer", "tags": "array", "s": "string"}
SCHEMA = {"type": "object", "properties": {name: {"type": kind} for name, kind in KINDS.items()}}
TOOL = Tool(ToolKey("mcp", "s", "t"), "", SCHEMA)


def test_words_become_values():
    assert read_arguments(["n=3", "tags=a,b", "s=x=y"], TOOL) == {
        "n": 3, "tags": ["a", "b"], "s": "x=y",
    }  # fmt: skip


@pytest.mark.parametrize("words", [["n"], ["m=1"], ["{not json}"], ["n=1", "n=1"]])
def test_words_that_are_no_arguments_are_refused(words: list[str]):
    with pytest.raises(InvalidArguments):
        read_arguments(words, TOOL)


def test_a_limit_that_was_typed_is_named_and_none_of_the_settings(tmp_path: Path, capsys: Any):
    """The one of the settings would not help: it was not what ended the call."""
    file = tmp_path / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": {"it": fault_server.entry()}}))
    words = ("call", "it", "never", "--timeout", "0.5", "--settings", str(file))
    for more in ((), ("--json",)):
        status, out, err = command(capsys, *words, *more)
        assert status == 1
        assert "Give the call more time with `timeout_seconds`" in out + err
        assert "in the settings" not in out + err


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_a_limit_that_cannot_be_is_wrong_usage(settings: Path, capsys: Any, seconds: str):
    words = ("call", "units", "list_units", "--timeout", seconds, "--settings", str(settings))
    status, out, err = command(capsys, *words)
    assert (status, out) == (2, "")
    assert f"{seconds!r} is not a number of seconds above 0" in err
