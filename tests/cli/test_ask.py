"""`xai-mcp-agent ask`: a question, answered with the tools of the settings."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from unittest.mock import ANY

import pytest

from tests.support.commands import SERVERS, Cli, write_settings
from tests.support.fault_server import entry
from tests.support.model_endpoint import calls, model_endpoint, says
from tests.support.shredder_server import shredder_entry

ASK = ("ask", "Convert 5 miles to kilometres")
MISSING_PROGRAM = {"command": "no-such-program-anywhere"}


def test_a_pipe_gets_only_the_answer(examples: Path, cli: Cli):
    status, out, err = cli(*ASK, "--show", "normal")
    assert (status, out.splitlines()[-1]) == (0, "sentence: 5 mi = 8.04672 km")
    assert all(x in err for x in ("bad", "convert_units(", "== agent: 2 turns, 1 tool call"))
    assert "bad" in cli(*ASK, "--json").json["left_out"][0]


def test_server_limits_the_agent_to_these_servers_and_requires_each(examples: Path, cli: Cli):
    assert cli(*ASK, "--server", "library", "--json").json["calls"] == []
    cli(*ASK, "--server", "units", "--server", "bad").shows("5 mi = 8.04672 km", "bad", status=1)
    cli("ask x --server unit").fails("units")


def test_a_missing_key_or_address_of_the_model_is_reported_once(examples: Path, cli: Cli):
    ran = cli("ask x --model openai:any --base-url http://127.0.0.1:9/v1")
    assert ran.fails("is `base_url` right?").err.count("127.0.0.1:9") == 1
    for more in ("", "--show normal", "--json"):
        ran = cli(f"ask x --model openai:any {more}")
        ran.shows("Set OPENAI_API_KEY in the file .env beside mcp_settings.json", status=1)
        assert ran.text.count("there is no API key") == 1


def test_what_a_model_cannot_use_of_the_env_file_is_said_on_stderr(
    examples: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    (examples / ".env").write_text("OPENAI_BASE_URL=http://127.0.0.1:9/v1\nOPENAI_API_KEY=sk-1\n")
    assert "OPENAI_BASE_URL: ignored in this file" in cli(*ASK).err
    monkeypatch.delenv("XAI_MCP_TRUST")
    units = f"{sys.executable} {SERVERS / 'units.py'}"
    ran = cli(*ASK, "--server", units, "--model", "openai:any")
    ran.shows("at .env: it is not used, because you have not agreed", "no API key", status=1)


def test_a_wrong_option_or_an_empty_question_is_wrong_usage(examples: Path, cli: Cli):
    for line, hint in (
        ("ask x --show loud", "'loud' is not one of 'quiet', 'normal', 'verbose'"),
        ("ask x --model openai:", "Write openai:NAME"),
        ("ask ' '", "The question is empty"),
        ("ask x --api-key NOT_SET_HERE", "the environment variable NOT_SET_HERE is not set"),
    ):
        cli(line).fails(hint, status=2)


def test_ask_fails_without_any_tool_and_explains_it_on_stderr(folder: Path, cli: Cli):
    write_settings(folder, {"gone": MISSING_PROGRAM})
    for more in ((), ("--server", "gone")):
        ran = cli(*ASK, *more).fails("No tool of this agent can be used")
        assert ran.err.count("'no-such-program-anywhere' was not found") == 1
    ran = cli(*ASK, "--json").shows("No tool of this agent can be used", status=1)
    assert (ran.json["answer"], ran.json["stopped"]) == ("", "no_tools")
    assert "was not found" in ran.json["left_out"][0]
    write_settings(folder, {"it": entry(), "gone": {**MISSING_PROGRAM, "required": True}})
    cli(*ASK).fails("Required, but without a tool that can be used: gone.")


def test_wait_is_the_limit_for_servers_that_are_not_named(folder: Path, cli: Cli):
    write_settings(folder, {"it": entry(), "late": entry(delay=60.0)})
    answer = cli("ask 'What can you do?' --wait 0 --json").json
    assert answer["left_out"] == ["not ready yet, used as soon as they are: late"]


def test_the_transcript_of_ask_can_be_drawn(
    examples: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    """`plan draw` recommends a transcript."""
    monkeypatch.setenv("XAI_MCP_TRANSCRIPT", str(examples / "runs.jsonl"))
    cli(*ASK).shows()
    cli("plan draw runs.jsonl").shows("Written: runs_drawn.xircuits, 1 call")


def test_ask_reads_the_question_from_stdin_and_continues_a_conversation(
    examples: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """As in a shell: `echo question | xai-mcp-agent ask`, and `--continue` for the next one."""
    cli("ask x --continue").fails("no conversation")
    for line in ("ask", "ask -"):
        monkeypatch.setattr("sys.stdin", io.StringIO(ASK[1]))
        cli(line).shows("8.04672 km")
    (file,) = tmp_path.rglob("conversations/*.json")
    assert file.stat().st_mode & 0o077 == 0
    before = json.loads(file.read_text())
    cli("ask 'Convert 2 miles to kilometres' --continue")
    assert json.loads(file.read_text())[: len(before) + 1] == [*before, ANY]


def test_the_options_decide_how_the_model_is_asked(
    examples: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    schema = '{"type": "object", "properties": {"km": {"type": "number"}}}'
    (examples / "schema.json").write_text(schema)
    monkeypatch.setenv("MY_KEY", "sk-mine-0123456789")
    with model_endpoint([says('{"km": 8}')]) as endpoint:
        model = f"--model openai:m --base-url {endpoint.base_url} --api-key MY_KEY"
        ran = cli(f"ask x {model} --temperature 0.5 --schema schema.json --json")
    assert ran.json["structured"] == {"km": 8}
    assert endpoint.requests[0].body["temperature"] == 0.5
    assert endpoint.requests[0].headers["authorization"] == "Bearer sk-mine-0123456789"
    cli("ask x --schema no.json").fails("no.json cannot be used as --schema")


def test_approve_lets_a_tool_be_called_without_a_question(folder: Path, cli: Cli):
    write_settings(folder, {"shredder": shredder_entry()})
    script = [calls(("shredder_shred", {"paper": "deed"})), says("Done.")]
    with model_endpoint([*script, *script]) as endpoint:
        ask = f"ask Shred --json --model openai:m --base-url {endpoint.base_url}"
        assert [x["is_error"] for x in cli(ask).json["calls"]] == [True]
        assert [x["is_error"] for x in cli(f"{ask} --approve shred").json["calls"]] == [False]
