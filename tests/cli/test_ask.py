"""`xai-mcp-agent ask`: a question, answered with the tools of the settings."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.support.commands import Cli, write_settings
from tests.support.fault_server import entry
from tests.support.model_endpoint import calls, model_endpoint, says
from tests.support.shredder_server import shredder_entry

ASK = ("ask", "Convert 5 miles to kilometres")
MISSING_PROGRAM = {"command": "no-such-program-anywhere"}


def test_a_pipe_gets_only_the_answer(examples: Path, cli: Cli):
    status, out, err = cli(*ASK, "--show", "normal")
    assert status == 0, out + err
    assert out.endswith("sentence: 5 mi = 8.04672 km\n")
    assert all(x in err for x in ("bad", "convert_units(", "== agent: 2 turns, 1 tool call"))
    answer = cli(*ASK, "--json").json
    assert answer["stopped"] == "answered"
    assert [(x["tool"], x["server"]) for x in answer["calls"]] == [("units_convert_units", "units")]
    assert any("bad" in x for x in answer["left_out"])


def test_server_limits_the_agent_to_these_servers_and_requires_each(examples: Path, cli: Cli):
    assert cli(*ASK, "--server", "library", "--json").json["calls"] == []
    status, out, err = cli(*ASK, "--server", "units", "--server", "bad")
    assert (status, out.endswith("sentence: 5 mi = 8.04672 km\n"), "bad" in err) == (1, True, True)
    ran = cli("ask x --server unit")
    assert (ran.status, "units" in ran.err) == (1, True)


def test_a_missing_key_or_address_of_the_model_is_reported_once(examples: Path, cli: Cli):
    ran = cli("ask x --model openai:any --base-url http://127.0.0.1:9/v1")
    assert (ran.status, ran.err.count("127.0.0.1:9")) == (1, 1)
    assert "is `base_url` right?" in ran.err
    for more in ("", "--show normal", "--json"):
        ran = cli(f"ask x --model openai:any {more}")
        assert (ran.status, ran.text.count("there is no API key")) == (1, 1)
        assert "Set OPENAI_API_KEY in the file .env beside mcp_settings.json" in ran.text


def test_a_wrong_option_or_an_empty_question_is_wrong_usage(examples: Path, cli: Cli):
    for line, hint in (
        ("ask x --show loud", "'loud' is not one of 'quiet', 'normal', 'verbose'"),
        ("ask x --model openai:", "Write openai:NAME"),
        ("ask ' '", "The question is empty"),
        ("ask x --api-key NOT_SET_HERE", "the environment variable NOT_SET_HERE is not set"),
    ):
        ran = cli(line)
        assert (ran.status, ran.out, hint in ran.text) == (2, "", True), line


def test_ask_fails_without_any_tool_and_explains_it_on_stderr(folder: Path, cli: Cli):
    write_settings(folder, {"gone": MISSING_PROGRAM})
    for more in ((), ("--server", "gone")):
        status, out, err = cli(*ASK, *more)
        assert (status, out) == (1, "")
        assert "No tool of this agent can be used" in err
        assert err.count("'no-such-program-anywhere' was not found") == 1
    ran = cli(*ASK, "--json")
    assert (ran.status, ran.json["answer"], ran.json["stopped"]) == (1, "", "no_tools")
    assert "was not found" in ran.json["left_out"][0]
    assert "No tool of this agent can be used" in ran.err
    write_settings(folder, {"it": entry(), "gone": {**MISSING_PROGRAM, "required": True}})
    status, out, err = cli(*ASK)
    assert (status, out) == (1, "")
    assert "Required, but without a tool that can be used: gone." in err


@pytest.mark.parametrize(
    ("words", "has_late"), [("--wait 0", False), ("--server late --server it --wait 0", True)]
)
def test_ask_waits_for_named_servers_and_for_others_up_to_the_limit(
    folder: Path, cli: Cli, words: str, has_late: bool
):
    servers = {"it": entry(), "late": entry(delay=0.3 if has_late else 60.0)}
    write_settings(folder, servers, wait=0)
    answer = cli(f"ask 'What can you do?' {words} --json").json
    assert ("late_echo" in answer["answer"]) == has_late
    late = "not ready yet, used as soon as they are: late"
    assert answer["left_out"] == ([] if has_late else [late])


def test_the_transcript_of_ask_can_be_drawn(
    examples: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    """`plan draw` recommends a transcript."""
    lines = examples / "runs.jsonl"
    monkeypatch.setenv("XAI_MCP_TRANSCRIPT", str(lines))
    assert cli(*ASK).status == 0
    assert cli("plan draw runs.jsonl").out.startswith("Written: runs_drawn.xircuits, 1 call")
    events = [json.loads(x) for x in lines.read_text(encoding="utf-8").splitlines()]
    assert [x["event"] for x in events][:: len(events) - 1] == ["RunStarted", "RunFinished"]
    assert {(x["run"], x["agent"]) for x in events} == {(events[0]["run_id"], "agent")}


def test_ask_reads_the_question_from_stdin_and_continues_a_conversation(
    examples: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """As in a shell: `echo question | xai-mcp-agent ask`, and `--continue` for the next one."""
    ran = cli("ask x --continue")
    assert (ran.status, "no conversation" in ran.err) == (1, True)
    for line in ("ask", "ask -"):
        monkeypatch.setattr("sys.stdin", io.StringIO(ASK[1]))
        ran = cli(line)
        assert (ran.status, "8.04672 km" in ran.out) == (0, True)
    (file,) = tmp_path.rglob("conversations/*.json")
    assert file.stat().st_mode & 0o077 == 0
    before = json.loads(file.read_text())
    cli("ask 'Convert 2 miles to kilometres' --continue")
    after = json.loads(file.read_text())
    assert after[: len(before)] == before
    assert len(after) > len(before)


def test_the_options_decide_how_the_model_is_asked(
    examples: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    schema = '{"type": "object", "properties": {"km": {"type": "number"}}}'
    (examples / "schema.json").write_text(schema)
    monkeypatch.setenv("MY_KEY", "sk-mine-0123456789")
    with model_endpoint([says('{"km": 8}')]) as endpoint:
        model = f"--model openai:m --base-url {endpoint.base_url} --api-key MY_KEY"
        ran = cli(f"ask x {model} --temperature 0.5 --schema schema.json --json")
    assert ran.status == 0, ran.err
    assert ran.json["structured"] == {"km": 8}
    assert endpoint.requests[0].body["temperature"] == 0.5
    assert endpoint.requests[0].headers["authorization"] == "Bearer sk-mine-0123456789"
    ran = cli("ask x --schema no.json")
    assert (ran.status, "no.json cannot be used as --schema" in ran.err) == (1, True)


def test_approve_lets_a_tool_be_called_without_a_question(folder: Path, cli: Cli):
    write_settings(folder, {"shredder": shredder_entry()})
    script = [calls(("shredder_shred", {"paper": "deed"})), says("Done.")]
    with model_endpoint([*script, *script]) as endpoint:
        ask = f"ask Shred --json --model openai:m --base-url {endpoint.base_url}"
        assert [x["is_error"] for x in cli(ask).json["calls"]] == [True]
        assert [x["is_error"] for x in cli(f"{ask} --approve shred").json["calls"]] == [False]
