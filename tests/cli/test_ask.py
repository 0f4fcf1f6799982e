"""`xai-mcp-agent ask`: a question, answered with the tools of the settings."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_search import settings
from tests.cli.test_servers import command
from tests.support.fault_server import entry
from tests.support.model_endpoint import calls, model_endpoint, says
from tests.support.shredder_server import shredder_entry

__all__ = ["settings"]

_QUESTION = "Convert 5 miles to kilometres"


def test_only_the_answer_goes_into_another_program(settings: str, capsys: Any) -> None:
    status, out, err = command(capsys, "ask", _QUESTION, "--settings", settings)
    assert status == 0, out + err
    assert out.endswith("sentence: 5 mi = 8.04672 km\n")
    assert "bad" in err


def test_a_program_gets_the_calls_too(settings: str, capsys: Any) -> None:
    _, out, _ = command(capsys, "ask", _QUESTION, "--json", "--settings", settings)
    told = json.loads(out)
    assert told["stopped"] == "answered"
    assert [(x["tool"], x["server"]) for x in told["calls"]] == [("units_convert_units", "units")]
    assert any("bad" in x for x in told["left_out"])


def test_an_agent_has_only_the_named_servers(settings: str, capsys: Any) -> None:
    words = ("ask", _QUESTION, "--server", "library", "--json", "--settings", settings)
    assert json.loads(command(capsys, *words)[1])["calls"] == []


def test_a_server_that_is_not_there_is_reported_with_the_nearest(
    settings: str, capsys: Any
) -> None:
    status, _, err = command(capsys, "ask", "x", "--server", "unit", "--settings", settings)
    assert status == 1
    assert "units" in err


def test_what_it_does_is_shown_where_that_is_wanted(settings: str, capsys: Any) -> None:
    words = ("ask", _QUESTION, "--show", "normal", "--settings", settings)
    _, out, err = command(capsys, *words)
    assert "convert_units(" in err
    assert "== agent: 2 turns, 1 tool call" in err
    assert out.endswith("sentence: 5 mi = 8.04672 km\n")


def test_a_model_that_cannot_be_reached_is_an_error_with_its_address(
    settings: str, capsys: Any
) -> None:
    model = ("--model", "openai:any", "--base-url", "http://127.0.0.1:9/v1")
    status, _, err = command(capsys, "ask", "x", *model, "--settings", settings)
    assert status == 1
    assert err.count("127.0.0.1:9") == 1
    assert "is `base_url` right?" in err


@pytest.mark.parametrize("show", [[], ["--show", "normal"], ["--json"]])
def test_what_a_model_lacks_is_reported_once(
    settings: str, capsys: Any, monkeypatch: pytest.MonkeyPatch, show: list[str]
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    words = ("ask", "x", "--model", "openai:any", *show, "--settings", settings)
    status, out, err = command(capsys, *words)
    told = out + err
    assert status == 1
    assert told.count("there is no API key") == 1
    assert "Set OPENAI_API_KEY in the file .env beside mcp_settings.json" in told


def test_a_server_that_was_asked_for_and_cannot_be_used_is_no_success(
    settings: str, capsys: Any
) -> None:
    words = ("ask", _QUESTION, "--server", "units", "--server", "bad", "--settings", settings)
    status, out, err = command(capsys, *words)
    assert status == 1
    assert out.endswith("sentence: 5 mi = 8.04672 km\n")
    assert "bad" in err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["x", "--show", "loud"], "'loud' is not one of quiet, normal, verbose"),
        (["x", "--model", "openai:"], "Write openai:NAME"),
        ([" "], "The question is empty"),
        (["x", "--server", ""], "The name of a server is empty"),
    ],
)
def test_what_cannot_be_asked_is_wrong_usage(
    settings: str, capsys: Any, words: list[str], hint: str
) -> None:
    status, out, err = command(capsys, "ask", *words, "--settings", settings)
    assert (status, out) == (2, "")
    assert hint in err


def settings_with(folder: Path, servers: dict[str, Any], **beside: Any) -> str:
    file = folder / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": servers, **beside}), encoding="utf-8")
    return str(file)


GONE = {"command": "no-such-program-anywhere"}


@pytest.mark.parametrize("named", [[], ["--server", "gone"]])
def test_without_any_tool_it_fails_and_says_why_on_stderr(
    tmp_path: Path, capsys: Any, named: list[str]
) -> None:
    file = settings_with(tmp_path, {"gone": GONE})
    status, out, err = command(capsys, "ask", _QUESTION, *named, "--settings", file)
    assert (status, out) == (1, "")
    assert "No tool of this agent can be used" in err
    assert err.count("'no-such-program-anywhere' was not found") == 1


def test_a_program_gets_the_same(tmp_path: Path, capsys: Any) -> None:
    file = settings_with(tmp_path, {"gone": GONE})
    status, out, err = command(capsys, "ask", _QUESTION, "--json", "--settings", file)
    told = json.loads(out)
    assert (status, told["answer"], told["stopped"]) == (1, "", "no_tools")
    assert "was not found" in told["left_out"][0]
    assert "No tool of this agent can be used" in err


def test_a_server_that_the_settings_require_is_enough_to_fail(tmp_path: Path, capsys: Any) -> None:
    file = settings_with(tmp_path, {"it": entry(), "gone": {**GONE, "required": True}})
    status, out, err = command(capsys, "ask", _QUESTION, "--settings", file)
    assert (status, out) == (1, "")
    assert "Required, but without a tool that can be used: gone." in err


@pytest.mark.parametrize(
    ("words", "has_late"),
    [
        (["--wait", "0"], False),
        (["--server", "late", "--server", "it", "--wait", "0"], True),
        ([], False),
    ],
)
def test_a_named_server_is_waited_for_and_the_others_as_long_as_is_reported(
    tmp_path: Path, capsys: Any, words: list[str], has_late: bool
) -> None:
    servers = {"it": entry(), "late": entry(delay=2.0 if has_late else 60.0)}
    file = settings_with(tmp_path, servers, wait=0)
    _, out, _ = command(capsys, "ask", "What can you do?", *words, "--json", "--settings", file)
    told = json.loads(out)
    assert ("late_echo" in told["answer"]) == has_late
    late = "not ready yet, used as soon as they are: late"
    assert told["left_out"] == ([] if has_late else [late])


def test_the_wait_is_reported_where_people_look(capsys: Any) -> None:
    told = " ".join(command(capsys, "ask", "--help")[1].split())
    assert "--wait" in told
    assert "else 20" in told
    assert "startTimeout" in told


def test_its_transcript_can_be_drawn(
    settings: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`draw` advises to have one written."""
    monkeypatch.chdir(tmp_path)
    lines = tmp_path / "runs.jsonl"
    monkeypatch.setenv("XAI_MCP_TRANSCRIPT", str(lines))
    assert command(capsys, "ask", _QUESTION, "--settings", settings)[0] == 0
    status, out, _ = command(capsys, "plan", "draw", str(lines), "--settings", settings)
    assert status == 0
    assert out.startswith("Written: runs_drawn.xircuits, 1 call")
    told = [json.loads(x) for x in lines.read_text(encoding="utf-8").splitlines()]
    assert [x["event"] for x in told][:: len(told) - 1] == ["RunStarted", "RunFinished"]
    assert {(x["run"], x["agent"]) for x in told} == {(told[0]["run_id"], "agent")}


def test_a_question_comes_from_stdin_and_a_conversation_goes_on(
    settings: str, capsys: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As in a shell: `echo question | xai-mcp-agent ask`, and `--continue` for the next one."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    status, _, err = command(capsys, "ask", "x", "--continue", "--settings", settings)
    assert (status, "no conversation" in err) == (1, True)
    for words in ([], ["-"]):
        monkeypatch.setattr("sys.stdin", io.StringIO(_QUESTION))
        status, out, _ = command(capsys, "ask", *words, "--settings", settings)
        assert (status, "8.04672 km" in out) == (0, True)
    (kept,) = (tmp_path / "state").rglob("conversations/*.json")
    assert kept.stat().st_mode & 0o077 == 0
    before = json.loads(kept.read_text())
    command(capsys, "ask", "Convert 2 miles to kilometres", "--continue", "--settings", settings)
    after = json.loads(kept.read_text())
    assert after[: len(before)] == before
    assert len(after) > len(before)


def test_a_model_is_asked_as_the_options_say(
    settings: str, capsys: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object", "properties": {"km": {"type": "number"}}}')
    monkeypatch.setenv("MY_KEY", "sk-mine-0123456789")
    with model_endpoint([says('{"km": 8}')]) as endpoint:
        words = ("--model", "openai:m", "--base-url", endpoint.base_url, "--api-key", "MY_KEY")
        options = ("--temperature", "0.5", "--schema", str(schema), "--json")
        status, out, err = command(capsys, "ask", "x", *words, *options, "--settings", settings)
    assert status == 0, err
    assert json.loads(out)["structured"] == {"km": 8}
    assert endpoint.requests[0].body["temperature"] == 0.5
    assert endpoint.requests[0].headers["authorization"] == "Bearer sk-mine-0123456789"


def test_a_tool_that_was_approved_with_the_question_is_called_unasked(
    tmp_path: Path, capsys: Any
) -> None:
    file = tmp_path / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": {"shredder": shredder_entry()}}))
    script = [calls(("shredder_shred", {"paper": "deed"})), says("Done.")]
    with model_endpoint([*script, *script]) as endpoint:
        model = ("--model", "openai:m", "--base-url", endpoint.base_url)
        words = ("ask", "Shred it", *model, "--json", "--settings", str(file))
        (call,) = json.loads(command(capsys, *words)[1])["calls"]
        assert call["is_error"]
        (call,) = json.loads(command(capsys, *words, "--approve", "shred")[1])["calls"]
        assert not call["is_error"], call
