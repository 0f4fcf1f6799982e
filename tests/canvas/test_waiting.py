"""Runs that wait for approvals in a file, and go on in another process or later in the same."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from xai_components.xai_utils.utils import Print

from tests.support.canvas import agent_nodes, chain, make, play
from tests.support.model_endpoint import ModelEndpoint, calls, model_endpoint, says
from tests.support.processes import wait_until
from tests.support.scripts import ScriptResult, child_environment, compile_workflow, run_script
from tests.support.shredder_server import shredder_entry
from tests.support.small_workflows import agent_workflow
from tests.support.terminals import terminal
from tests.support.warm_python import warm_python
from tools.workflows import Workflow
from xai_mcp_agent import WaitingRun
from xai_mcp_agent.agent.run_file import RunFileError
from xai_mcp_agent.agent_components import AgentRun, AgentUseMCPTools
from xai_mcp_agent.cli.init import init_folder
from xai_mcp_agent.cli.main import run as run_command

SECRET = "a-very-secret-token-1234"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder; its only server destroys, and writes down what it did."""
    home = init_folder(tmp_path / "lab").folder
    entry = shredder_entry(home / "journal")
    settings = {"mcpServers": {"shredder": {**entry, "env": {"ACME_TOKEN": SECRET}}}}
    (home / "mcp_settings.json").write_text(json.dumps(settings), encoding="utf-8")
    monkeypatch.chdir(home)
    monkeypatch.setenv("HOME", str(home))  # as the scripts have it
    return home


@pytest.fixture
def endpoint() -> Iterator[ModelEndpoint]:
    """A model that files one paper, shreds two others, and says so."""
    with model_endpoint([TIDYING, says("All is tidy.")]) as model:
        yield model


TIDYING = calls(
    ("shredder_file_away", {"paper": f"the deed {SECRET}"}),
    ("shredder_shred", {"paper": f"the will {SECRET}"}),
    ("shredder_shred", {"paper": "the diary"}),
)


def tidying(endpoint: ModelEndpoint, **inputs: Any) -> Workflow:
    """A workflow whose agent tidies up, and then prints its answer."""
    inputs = {"question": "Tidy up.", "run_state": "tidying.run.json", **inputs}
    return agent_workflow("tidying", endpoint.base_url, "shredder", **inputs)


def compile_flow(folder: Path, flow: Workflow) -> Path:
    return compile_workflow(flow.write(folder))


def run_to_end(script: Path) -> str:
    """Run the script, and return its output in one line."""
    done = run_script(script, OPENAI_API_KEY="sk-dummy")
    assert done.status == 0, done.errors
    return " ".join((done.output + done.errors).split())


@pytest.fixture
def tidy(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs such a workflow in this process; what it prints, in one line."""

    def tidy(endpoint: ModelEndpoint, question: str = "Tidy up.") -> str:
        capsys.readouterr()
        run = make(AgentRun, question=question, run_state="tidying.run.json")
        run.on_waiting = chain(make(Print, msg=run.stopped))
        uses = make(AgentUseMCPTools, server_name="shredder")
        nodes = agent_nodes(uses, name="agent", **endpoint.inputs)
        play({}, *nodes, run, make(Print, msg=run.last_response))
        return " ".join(capsys.readouterr().out.split())

    return tidy


@pytest.fixture
def approve(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., ScriptResult]:
    """The command, with the words after `plan approve tidying.run.json`."""

    def approve(*words: str) -> ScriptResult:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            run_command(["plan", "approve", "tidying.run.json", *words])
        output, errors = capsys.readouterr()
        return ScriptResult(int(exit_.value.code or 0), output, errors)

    return approve


def journal(folder: Path) -> list[str]:
    file = folder / "journal"
    return sorted(file.read_text(encoding="utf-8").splitlines()) if file.exists() else []


def test_a_run_waits_in_a_file_and_goes_on_in_another_process(
    folder: Path, endpoint: ModelEndpoint, approve: Callable[..., ScriptResult]
) -> None:
    script, file = compile_flow(folder, tidying(endpoint)), folder / "tidying.run.json"
    output = run_to_end(script)
    assert "agent: waits for approval, 1 turn" in output
    assert "Answer with `xai-mcp-agent plan approve tidying.run.json`" in output
    assert "Executing: Print" not in output
    assert journal(folder) == [f"filed the deed {SECRET}"]
    assert file.stat().st_mode & 0o077 == 0
    listing = approve()
    assert "agent wants to call shred of shredder" in listing.output
    assert "it may destroy something" in listing.output
    result = approve("--yes", "1", "--no", "2")
    assert result.status == 0, result.errors
    assert "Run the workflow again" in result.output
    output = run_to_end(script)
    assert "All is tidy." in output
    assert "Executing: Print" in output
    assert journal(folder) == [f"filed the deed {SECRET}", f"shredded the will {SECRET}"]
    assert not file.exists()
    messages = endpoint.requests[1].body["messages"]
    results = [x["content"] for x in messages if x["role"] == "tool"]
    assert results[0].startswith("filed the deed")
    assert results[1] == "shredded the will ***"
    assert "was not approved (the person said no)" in results[2]
    assert len(endpoint.requests) == 2


def test_a_run_file_belongs_to_one_conversation_and_only_its_own_answers_count(
    folder: Path, endpoint: ModelEndpoint, tidy: Callable[..., str]
) -> None:
    """Secrets stand in it only where a call needs them."""
    file = folder / "tidying.run.json"
    tidy(endpoint)
    value = json.loads(file.read_text(encoding="utf-8"))
    state = value["run"]["state"]
    assert SECRET in json.dumps(state["pending"])
    assert SECRET not in json.dumps({**value["run"], "state": {**state, "pending": []}})
    with pytest.raises(RunFileError, match="A run with another conversation is waiting"):
        tidy(endpoint, "Something else.")
    answer = {"scope": "once", "reason": "", "was_asked": True, "by": "a stranger"}
    for call in state["awaiting"].values():
        call["answer"] = answer
    file.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(RunFileError, match="was not written by a run or command of yours"):
        tidy(endpoint)
    assert journal(folder) == [f"filed the deed {SECRET}"]
    assert file.exists()


def test_without_all_answers_it_waits_on_and_only_its_newest_state_counts(
    folder: Path,
    endpoint: ModelEndpoint,
    tidy: Callable[..., str],
    approve: Callable[..., ScriptResult],
) -> None:
    file = folder / "tidying.run.json"
    tidy(endpoint)
    approve("--yes", "2")
    older = file.read_bytes()
    assert "agent: waits for approval" in tidy(endpoint)
    filed = f"filed the deed {SECRET}"
    assert journal(folder) == [filed, "shredded the diary"]
    assert len(endpoint.requests) == 1, "the model is asked nothing"
    newest = file.read_bytes()
    file.write_bytes(older)
    with pytest.raises(RunFileError):
        tidy(endpoint)
    file.write_bytes(newest)
    approve("--all", "--for-good")
    assert "All is tidy." in tidy(endpoint)
    assert journal(folder) == [filed, "shredded the diary", f"shredded the will {SECRET}"]
    lock = json.loads((folder / "mcp_tools.lock.json").read_text(encoding="utf-8"))
    assert list(lock["sources"]["mcp:shredder"]["approved"]) == ["shred"]


def test_a_run_waits_even_if_a_person_is_present_and_a_changed_tool_needs_a_new_approval(
    folder: Path, endpoint: ModelEndpoint, approve: Callable[..., ScriptResult]
) -> None:
    script = compile_flow(folder, tidying(endpoint, wait_for_approval=True))
    with terminal(warm_python(), script.name, folder=folder, OPENAI_API_KEY="sk-dummy") as screen:
        screen.expect("agent: waits for approval")
        assert screen.end() == 0
    approve("--yes", "1", "--no", "2")
    (folder / "description").write_text("Keeps a paper.", encoding="utf-8")
    output = run_to_end(script)
    assert "agent: waits for approval" in output
    assert journal(folder) == [f"filed the deed {SECRET}"]
    listing = approve()
    assert "Keeps a paper." in listing.output
    assert listing.output.count("waits for an answer") == 1


def test_a_call_is_not_made_again_after_its_process_was_killed(
    folder: Path, approve: Callable[..., ScriptResult]
) -> None:
    """It is unknown whether the call was made; the model reads that, and the answer is used up."""
    shred = calls(("shredder_shred", {"paper": "a library"}))
    with model_endpoint([shred, shred]) as endpoint:
        script = compile_flow(folder, tidying(endpoint))
        run_to_end(script)
        approve("--all")
        child = subprocess.Popen(
            [warm_python(), script.name], cwd=folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=child_environment(folder, OPENAI_API_KEY="sk-dummy"),
        )  # fmt: skip
        try:
            wait_until(lambda: journal(folder) == ["shredded a library"], "the call")
            again = approve()
            assert "another process goes on with it" in again.errors
        finally:
            child.kill()
            child.wait()
        assert "agent: waits for approval" in run_to_end(script)
        assert journal(folder) == ["shredded a library"]
        results = [x for x in endpoint.requests[1].body["messages"] if x["role"] == "tool"]
        assert "It may have been carried out" in results[0]["content"]


def test_rules_count_the_calls_before_a_run_waited(
    folder: Path, tidy: Callable[..., str], approve: Callable[..., ScriptResult]
) -> None:
    """The used part of a limit stays used, and so does a word that a rule derived from a call."""
    settings = json.loads((folder / "mcp_settings.json").read_text(encoding="utf-8"))
    settings["rules"] = [
        {"name": "one", "when": {"tool": "file_away"}, "then": {"limit": "1 a run"}},
        {"when": {"tool": "file_away"}, "then": {"is": "filed"}},
        {"name": "none", "when": {"tool": "shred", "run.was": "filed"}, "then": "deny"},
    ]
    file, shred = ("shredder_file_away", {"paper": "it"}), ("shredder_shred", {"paper": "it"})
    replies = [calls(file, shred), calls(file), calls(shred), says("So it is.")]
    (folder / "mcp_settings.json").write_text(json.dumps(settings), encoding="utf-8")
    with model_endpoint(replies) as endpoint:
        assert "agent: waits for approval" in tidy(endpoint)
        approve("--no", "1")
        assert "So it is." in tidy(endpoint)
        messages = endpoint.requests[-1].body["messages"]
    results = [x["content"] for x in messages if x["role"] == "tool"]
    assert "the rule 'one' allows 1 a run, which are used up" in results[2]
    assert "the rule 'none' does not allow it" in results[3]
    assert journal(folder) == ["filed it"]


def test_a_run_file_is_used_once_and_a_copy_put_back_is_refused(
    folder: Path,
    endpoint: ModelEndpoint,
    tidy: Callable[..., str],
    approve: Callable[..., ScriptResult],
) -> None:
    """Otherwise a restored backup would repeat a destructive call."""
    file = folder / "tidying.run.json"
    assert tidy(endpoint).endswith("Executing: Print waiting")
    approve("--all")
    file_content = file.read_bytes()
    assert "All is tidy." in tidy(endpoint)
    entries = journal(folder)
    file.write_bytes(file_content)
    again = approve()
    assert again.status != 0
    refusal = "(?s)this state of the run was already used.*Delete the file, and the run starts"
    assert re.search(refusal, " ".join(again.errors.split()))
    for read in (lambda: tidy(endpoint), lambda: WaitingRun.read(file)):
        with pytest.raises(RunFileError, match=refusal):
            read()
    assert journal(folder) == entries
    assert len(endpoint.requests) == 2
