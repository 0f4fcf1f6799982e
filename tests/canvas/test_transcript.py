"""The transcript file says what happened in a run, never a secret, and never stops a run.

Who decided it: design.md section 6, the transcript file reads `RunEvent`s.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.agents_in_ctx import init_agent, use_server
from tests.support.commands import write_settings
from tests.support.fault_server import entry
from tests.support.scripts import child_environment
from tests.support.warm_python import warm_python
from xai_mcp_agent import JsonObject, UnknownTool
from xai_mcp_agent.bridge.transcript import Recorder, read_transcript
from xai_mcp_agent.canvas import servers
from xai_mcp_agent.canvas.agent_run import CanvasRun, run_agent, run_tool
from xai_mcp_agent.canvas.lease import bridge_of
from xai_mcp_agent.canvas.toolbelts import define_tool, make_toolbelt
from xai_mcp_agent.secrets.secrets import Secrets

_THREAD_SECONDS = 30
PASSWORD = "correct-horse-battery"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A transcript, turned on; the runs know the server `it`."""
    settings = write_settings(tmp_path, {"it": {**entry(), "env": {"IT_PASSWORD": PASSWORD}}})
    monkeypatch.setenv("XAI_MCP_SETTINGS", str(settings))
    monkeypatch.setenv("XAI_MCP_TRANSCRIPT", str(tmp_path / "transcript.jsonl"))
    return tmp_path / "transcript.jsonl"


def shouting(ctx: dict[str, Any], **agent: Any) -> None:
    """Set up the agent `helper` with the server `it` and the drawn tool `shout`."""
    define_tool(ctx, None, "shout", "Says a text loudly.", lambda _ctx, text, _: text.upper())
    use_server(ctx, "it")
    init_agent(ctx, "helper", toolbelt_spec=make_toolbelt(ctx, None), **agent)


def only(lines: list[JsonObject], event: str) -> JsonObject:
    (line,) = [x for x in lines if x["event"] == event]
    return line


def note(file: Path, **values: Any) -> JsonObject:
    """Record these values with a known password, and return the line."""
    Recorder(str(file), {"run": "r"}, [Secrets([PASSWORD])]).note("Noted", **values)
    return read_transcript(file)[-1]


# What is written


def test_a_run_of_an_agent_is_recorded_from_its_start_to_its_answer(file: Path) -> None:
    ctx: dict[str, Any] = {}
    shouting(ctx)
    run_agent(ctx, "helper", 'Shout "ahoy".', outcome=CanvasRun())
    lines = read_transcript(file)
    start, call = only(lines, "RunStarted"), only(lines, "ToolFinished")
    assert start["asked"] == 'Shout "ahoy".'
    assert {"shout", "it_echo"} <= set(start["tool_names"])
    assert (call["tool"], call["source"], call["text"]) == ("shout", "canvas", "AHOY")
    assert "AHOY" in only(lines, "RunFinished")["answer"]
    assert {x["agent"] for x in lines} == {"helper"}
    assert lines[0]["event"] == "RunStarted"
    assert "TextArrived" not in {x["event"] for x in lines}, "half a secret is not recognised"
    assert [x["time"] for x in lines] == sorted(x["time"] for x in lines)


def test_a_node_without_a_model_is_recorded_with_its_call_and_its_result(file: Path) -> None:
    """Lines of one workflow share a run, and those of another do not."""
    for _ in range(2):
        ctx: dict[str, Any] = {}
        servers.call_tool(ctx, "it", "echo", {"text": "hi"})
        with pytest.raises(UnknownTool):
            servers.call_tool(ctx, "it", "ecko", {})
    lines = read_transcript(file)
    runs = [x["run"] for x in lines]
    assert [runs.count(x) for x in dict.fromkeys(runs)] == [4, 4]
    start, end, _, failed = lines[:4]
    request = {"node": "MCPCallTool", "server": "it", "tool": "echo", "arguments": {"text": "hi"}}
    assert start.items() >= {**request, "event": "NodeStarted"}.items()
    assert end.items() >= {**request, "event": "NodeFinished", "is_error": False}.items()
    assert "hi" in end["text"]
    assert failed["event"] == "NodeFailed"
    assert "echo" in failed["error"]


def test_a_call_in_the_history_has_the_run_of_the_transcript(file: Path) -> None:
    """Issue 15: who used what. Each run of an agent, and each use of a node, is one of its own."""
    ctx: dict[str, Any] = {}
    shouting(ctx)
    for _ in range(2):
        run_agent(ctx, "helper", 'Shout "ahoy".', outcome=CanvasRun())
    run_tool(ctx, "helper", "shout", "ahoy", None)
    servers.call_tool(ctx, "it", "echo", {"text": "hi"})
    calls = [x.payload for x in bridge_of(ctx).history() if x.change == "called"]
    lines = [x for x in read_transcript(file) if x["event"] in ("ToolFinished", "NodeFinished")]
    for key in ("run_id", "call_id"):
        assert [x.get(key) for x in calls] == [x.get(key) for x in lines]
    assert len({x["run_id"] for x in calls}) == 4
    assert [(x["node"], x["caller"], x.get("agent")) for x in calls[1:]] == [
        ("AgentRun", "agent", "helper"),
        ("AgentRunTool", "agent", "helper"),
        ("MCPCallTool", "person", None),
    ]


# What is not written


def test_secrets_of_settings_environment_and_agent_are_masked(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_SERVICE_TOKEN", "tok-of-the-environment")
    ctx: dict[str, Any] = {}
    shouting(ctx, provider="offline", api_key="key-of-the-agent")
    secrets = f"{PASSWORD} tok-of-the-environment key-of-the-agent"
    run_agent(ctx, "helper", f'Shout "{secrets}".', outcome=CanvasRun())
    servers.call_tool(ctx, "it", "echo", {"text": secrets})
    note(file, arguments={"token": "short"})
    text = file.read_text(encoding="utf-8")
    assert "*** *** ***" in text
    for secret in (*secrets.split(), '"short"'):
        assert secret not in text


def test_a_long_value_is_masked_and_then_cut(file: Path) -> None:
    for text in ("." * 3_990 + PASSWORD + "." * 100, (PASSWORD + " ") * 60_000):
        assert PASSWORD[:6] not in note(file, text=text)["text"]
    line = note(file, text="x" * 10_000)
    assert line["text"].endswith("... (10000 characters)")
    assert len(line["text"]) < 4_100
    nested: list[Any] = []
    for _ in range(100):
        nested = [nested]
    line = note(file, bytes=b"x", half="\udc80", deep=nested)
    assert (line["bytes"], line["half"]) == ("<bytes>", "\udc80")


# The file


def test_a_file_that_cannot_be_written_is_reported_once_and_the_run_goes_on(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XAI_MCP_TRANSCRIPT", str(tmp_path / "no" / "such" / "folder.jsonl"))
    for _ in range(2):
        assert servers.call_tool({}, "it", "echo", {"text": "hi"})["text"]
    errors = capsys.readouterr().err
    assert errors.count("No transcript is written") == 1
    assert "XAI_MCP_TRANSCRIPT" in errors


WRITER = """
import sys
from xai_mcp_agent.bridge.transcript import Recorder
name = sys.argv[2]
for number in range(100):
    Recorder(sys.argv[1], {"run": name}).note("Noted", text=name * 3_000)
"""


def test_lines_of_several_processes_do_not_mix(file: Path) -> None:
    """A whole workshop may write to one file."""
    script = file.with_name("writer.py")
    script.write_text(WRITER, encoding="utf-8")
    command = [warm_python(), str(script), str(file)]
    environment = child_environment(file.parent)
    children = [subprocess.Popen([*command, name], env=environment) for name in "abc"]
    assert [child.wait(_THREAD_SECONDS) for child in children] == [0, 0, 0]
    with file.open("a", encoding="utf-8") as broken:  # by a process that was killed
        broken.write('{"event": "Noted", "te\n[]\n"x"\n')
    lines = read_transcript(file)
    assert len(lines) == 300
    assert all(set(x["text"]) == {x["run"]} for x in lines)
