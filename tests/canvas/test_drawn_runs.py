"""Runs of the examples, recorded, drawn, compiled, and run without a model: the same calls.

Who decided it: issue 16, how drawing is proved.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_servers import command
from tests.support.canvas_file import load, problems
from tests.support.model_endpoint import calls, model_endpoint, says
from tests.support.scripts import Finished, compile_workflow, run_script
from tools.example_agents import BASE_URL
from xai_mcp_agent.bridge.transcript import read_transcript
from xai_mcp_agent.cli.main import run
from xai_mcp_agent.drawing.recorded import runs_in_transcript
from xai_mcp_agent.drawing.tracing import traced

# How many calls are drawn of each.
RUNS = {
    "ex01_quickstart": 1,
    "ex09_quickstart_with_many_tools": 1,
    "ex08_native_and_text": 2,
    "ex07_progress_of_an_agent": 3,
    "ex10_agent_as_a_tool": 1,
    "ex03_mcp_without_a_model": 1,
    "ex15_plan_and_run": 2,
    "ex02_builtin_tools": 1,
    "ex13_history_of_an_agent": 1,
    "ex04_two_servers_and_a_drawn_tool": 3,
    "ex05_openai_compatible": 2,
}
SCRIPT = [
    calls(("library_search_books", {"query": "sea"}), ("library_list_loans", {})),
    says("Moby-Dick is on loan."),
]


@dataclass(frozen=True)
class Replayed:
    """A run as it was recorded, and what the workflow made that was drawn from it."""

    recorded: list[tuple[str, Any]]
    drawn: Path
    done: Finished
    made: list[tuple[str, Any]]


def made_in(transcript: Path) -> list[tuple[str, Any]]:
    """The calls of the newest run that can be made again: tools and arguments."""
    kept = [
        x
        for x in runs_in_transcript(read_transcript(transcript))[-1].calls
        if not (x.is_own or x.is_error or x.is_made_of_others)
    ]
    return [(x.name, x.arguments) for x in kept]


@pytest.fixture(scope="module")
def recorded(working_folder: Path) -> dict[str, Path]:
    """The transcript of each example."""
    with model_endpoint(SCRIPT) as endpoint, ThreadPoolExecutor(4) as pool:

        def record(name: str) -> Path:
            example = working_folder / "examples" / f"{name}.xircuits"
            text = example.read_text(encoding="utf-8").replace(BASE_URL, endpoint.base_url)
            file = working_folder / f"recorded_{name}.xircuits"
            file.write_text(text, encoding="utf-8")
            transcript = working_folder / f"{name}.jsonl"
            environment = {"OPENAI_API_KEY": "sk-dummy", "OPENAI_BASE_URL": endpoint.base_url}
            done = run_script(
                compile_workflow(file), XAI_MCP_TRANSCRIPT=str(transcript), **environment
            )
            assert done.status == 0, done
            return transcript

        return dict(zip(RUNS, pool.map(record, RUNS), strict=True))


@pytest.fixture(scope="module")
def replayed(working_folder: Path, recorded: dict[str, Path]) -> dict[str, Replayed]:
    """Each of them drawn by the command, compiled and run; no model is to be reached."""

    def replay(name: str) -> Replayed:
        drawn = working_folder / f"{name}_drawn.xircuits"
        again = working_folder / f"{name}_again.jsonl"
        done = run_script(compile_workflow(drawn), XAI_MCP_TRANSCRIPT=str(again))
        return Replayed(made_in(recorded[name]), drawn, done, made_in(again))

    for name, transcript in recorded.items():
        example = working_folder / "examples" / f"{name}.xircuits"
        draw(working_folder, str(transcript), "--tools-from", str(example))
    with ThreadPoolExecutor(4) as pool:
        return dict(zip(RUNS, pool.map(replay, RUNS), strict=True))


def draw(folder: Path, transcript: str, *words: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with pytest.raises(SystemExit) as ended:
            run(["plan", "draw", transcript, "--overwrite", *words])
    assert not ended.value.code


@pytest.mark.parametrize("name", RUNS)
def test_a_recorded_run_is_drawn_and_makes_the_same_calls_without_a_model(
    replayed: dict[str, Replayed], name: str
) -> None:
    found = replayed[name]
    assert (found.done.status, found.done.errors) == (0, "")
    assert "Executing: AgentRun\n" not in found.done.output
    assert len(found.recorded) == RUNS[name]
    assert found.made == found.recorded
    assert problems(load(found.drawn), found.drawn.stem) == []


def test_a_title_that_the_search_found_is_a_wire_to_the_drawn_tool(
    recorded: dict[str, Path],
) -> None:
    newest = runs_in_transcript(read_transcript(recorded["ex04_two_servers_and_a_drawn_tool"]))[-1]
    poster = traced(newest.calls)[0][-1]
    (reference,) = poster.arguments.values()
    assert reference.path[-1] == "title"


def test_a_run_without_any_call_that_can_be_made_is_reported(
    working_folder: Path, tmp_path: Path, capsys: Any
) -> None:
    """The memory belongs to the agent."""
    key = {"kind": "meta", "source": "", "name": "lookup_memory"}
    line = {"event": "ToolFinished", "run": "r", "source": "canvas", "key": key, "arguments": {}}
    file = tmp_path / "memory.jsonl"
    file.write_text(json.dumps(line) + "\n" + json.dumps(line) + "\n", encoding="utf-8")
    status, _, errors = command(
        capsys, "plan", "draw", str(file), "--out", str(tmp_path / "x.xircuits")
    )
    assert status == 1
    assert "no call that can be made again" in errors
