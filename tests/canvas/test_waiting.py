"""Runs that wait for approvals in a file, and go on in another process or later in the same."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from xai_components.xai_utils.utils import Print

from tests.support.canvas import agent_nodes, chain, make, play
from tests.support.commands import Cli, CommandResult, write_settings
from tests.support.model_endpoint import ModelEndpoint, calls, fails, model_endpoint, says
from tests.support.processes import lines_in, wait_until
from tests.support.scripts import child_environment, compile_workflow, run_script
from tests.support.shredder_server import shredder_entry
from tests.support.small_workflows import agent_workflow
from tests.support.terminals import terminal
from tests.support.warm_python import warm_python
from xai_mcp_agent import ModelError
from xai_mcp_agent.agent.run_file import RunFileError
from xai_mcp_agent.agent_components import AgentRun
from xai_mcp_agent.cli.init import init_folder

SECRET = "a-very-secret-token-1234"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder; its only server destroys, and writes down what it did."""
    home = init_folder(tmp_path / "lab").folder
    entry = shredder_entry(home / "journal")
    write_settings(home, {"shredder": {**entry, "env": {"ACME_TOKEN": SECRET}}})
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


def tidying_script(folder: Path, endpoint: ModelEndpoint, **inputs: Any) -> Path:
    """A compiled workflow whose agent tidies up, and then prints its answer."""
    inputs = {"question": "Tidy up.", "run_state": "tidying.run.json", **inputs}
    flow = agent_workflow("tidying", endpoint.base_url, "shredder", **inputs)
    return compile_workflow(flow.write(folder))


def run_to_end(script: Path) -> str:
    """Run the script, and return its output in one line."""
    done = run_script(script, OPENAI_API_KEY="sk-dummy")
    assert done.returncode == 0, done.stderr
    return " ".join((done.stdout + done.stderr).split())


@pytest.fixture
def tidy(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs such a workflow in this process; what it prints, in one line."""

    def tidy(endpoint: ModelEndpoint, question: str = "Tidy up.") -> str:
        capsys.readouterr()
        run = make(AgentRun, question=question, run_state="tidying.run.json")
        run.on_waiting = chain(make(Print, msg=run.stopped))
        nodes = agent_nodes("shredder", name="agent", **endpoint.inputs)
        play({}, *nodes, run, make(Print, msg=run.last_response))
        return " ".join(capsys.readouterr().out.split())

    return tidy


@pytest.fixture
def approve(capsys: pytest.CaptureFixture[str]) -> Callable[..., CommandResult]:
    """The command, with the words after `plan approve tidying.run.json`."""
    return partial(Cli(capsys), "plan approve tidying.run.json")


def journal(folder: Path) -> list[str]:
    return sorted(lines_in(folder / "journal"))


def test_a_run_waits_in_a_file_and_goes_on_in_another_process(
    folder: Path, endpoint: ModelEndpoint, approve: Callable[..., CommandResult]
) -> None:
    script, file = tidying_script(folder, endpoint), folder / "tidying.run.json"
    output = run_to_end(script)
    assert "agent: waits for approval, 1 turn" in output
    assert "Answer with `xai-mcp-agent plan approve tidying.run.json`" in output
    assert "Executing: Print" not in output
    assert journal(folder) == [f"filed the deed {SECRET}"]
    assert file.stat().st_mode & 0o077 == 0
    listing = approve()
    assert "agent wants to call shred of shredder" in listing.out
    assert "it may destroy something" in listing.out
    result = approve("--yes", "1", "--no", "2")
    assert result.status == 0, result.err
    assert "Run the workflow again" in result.out
    output = run_to_end(script)
    assert "All is tidy." in output
    assert "Executing: Print" in output
    assert journal(folder) == [f"filed the deed {SECRET}", f"shredded the will {SECRET}"]
    assert not file.exists()
    filed, shredded, refused = endpoint.requests[1].results
    assert filed.startswith("filed the deed")
    assert shredded == "shredded the will ***"
    assert "was not approved (the person said no)" in refused
    assert len(endpoint.requests) == 2


def test_a_run_file_belongs_to_one_conversation_and_only_its_own_answers_count(
    folder: Path, endpoint: ModelEndpoint, tidy: Callable[..., str]
) -> None:
    """Secrets stand in it only where a call needs them."""
    file = folder / "tidying.run.json"
    assert tidy(endpoint).endswith("Executing: Print waiting")
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
    approve: Callable[..., CommandResult],
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
    approve().fails("this state of the run was already used", "Delete the file")
    with pytest.raises(RunFileError, match="was already used"):
        tidy(endpoint)
    file.write_bytes(newest)
    approve("--all", "--for-good")
    assert "All is tidy." in tidy(endpoint)
    assert journal(folder) == [filed, "shredded the diary", f"shredded the will {SECRET}"]
    lock = json.loads((folder / "mcp_tools.lock.json").read_text(encoding="utf-8"))
    assert list(lock["sources"]["mcp:shredder"]["approved"]) == ["shred"]


def test_a_run_waits_even_if_a_person_is_present_and_a_changed_tool_needs_a_new_approval(
    folder: Path, endpoint: ModelEndpoint, approve: Callable[..., CommandResult]
) -> None:
    script = tidying_script(folder, endpoint, wait_for_approval=True)
    with terminal(warm_python(), script.name, folder=folder, OPENAI_API_KEY="sk-dummy") as screen:
        screen.expect("agent: waits for approval")
        assert screen.end() == 0
    approve("--yes", "1", "--no", "2")
    (folder / "description").write_text("Keeps a paper.", encoding="utf-8")
    output = run_to_end(script)
    assert "agent: waits for approval" in output
    assert journal(folder) == [f"filed the deed {SECRET}"]
    listing = approve()
    assert "Keeps a paper." in listing.out
    assert listing.out.count("waits for an answer") == 1


def test_a_call_is_not_made_again_after_its_process_was_killed(
    folder: Path, approve: Callable[..., CommandResult]
) -> None:
    """It is unknown whether the call was made; the model reads that, and the answer is used up."""
    shred = calls(("shredder_shred", {"paper": "a library"}))
    with model_endpoint([shred, shred]) as endpoint:
        script = tidying_script(folder, endpoint)
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
            assert "another process goes on with it" in again.err
        finally:
            child.kill()
            child.wait()
        assert "agent: waits for approval" in run_to_end(script)
        assert journal(folder) == ["shredded a library"]
        assert "It may have been carried out" in endpoint.requests[1].results[0]


def test_a_run_that_fails_after_approved_calls_goes_on_with_calls_of_its_next_turn(
    folder: Path, tidy: Callable[..., str], approve: Callable[..., CommandResult]
) -> None:
    """Results in the file belong to the turn before, whose calls stood at the same positions."""
    will, diary = [calls(("shredder_shred", {"paper": x})) for x in ("the will", "the diary")]
    with model_endpoint([will, fails(400, "Bad day."), diary, says("All is tidy.")]) as endpoint:
        tidy(endpoint)
        approve("--all")
        with pytest.raises(ModelError, match="Bad day"):
            tidy(endpoint)
        assert "agent: waits for approval" in tidy(endpoint)
        approve("--all")
        assert "All is tidy." in tidy(endpoint)
    assert journal(folder) == ["shredded the diary", "shredded the will"]


def test_rules_count_the_calls_before_a_run_waited(
    folder: Path, tidy: Callable[..., str], approve: Callable[..., CommandResult]
) -> None:
    """The used part of a limit stays used, and so does a word that a rule derived from a call."""
    rules = [
        {"name": "one", "when": {"tool": "file_away"}, "then": {"limit": "1 a run"}},
        {"when": {"tool": "file_away"}, "then": {"is": "filed"}},
        {"name": "none", "when": {"tool": "shred", "run.was": "filed"}, "then": "deny"},
    ]
    file, shred = ("shredder_file_away", {"paper": "it"}), ("shredder_shred", {"paper": "it"})
    replies = [calls(file, shred), calls(file), calls(shred), says("So it is.")]
    write_settings(folder, {"shredder": shredder_entry(folder / "journal")}, rules=rules)
    with model_endpoint(replies) as endpoint:
        assert "agent: waits for approval" in tidy(endpoint)
        approve("--no", "1")
        assert "So it is." in tidy(endpoint)
    results = endpoint.requests[-1].results
    assert "the rule 'one' allows 1 a run, which are used up" in results[2]
    assert "the rule 'none' does not allow it" in results[3]
    assert journal(folder) == ["filed it"]
