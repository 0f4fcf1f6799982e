"""The examples: compiled and run as scripts, then drawn from their transcripts and run again.

Who decided it: issue 16, a drawn run makes the same calls without a model.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.support.canvas_file import load, problems
from tests.support.model_endpoint import ReceivedRequest, calls, model_endpoint, says
from tests.support.scripts import compile_workflow, run_script
from tools.build_examples import all_examples
from tools.example_agents import BASE_URL, FIRST_QUESTION, MODEL
from xai_mcp_agent.bridge.transcript import read_transcript
from xai_mcp_agent.cli.main import run
from xai_mcp_agent.drawing.runs import runs_in_transcript

DUMMY_KEY = "sk-dummy-0123456789"
WITH_MODEL = "ex05_openai_compatible"
TWO_SERVERS = "ex04_two_servers_and_a_drawn_tool"
SCRIPT = [
    calls(("library_search_books", {"query": "sea"}), ("library_list_loans", {})),
    says("Moby-Dick is on loan."),
]

# What the run of each example shows, in this order.
OUTPUTS = {
    "ex01_quickstart": ['-> library_search_books(query="sea")', "Moby-Dick"],
    "ex09_quickstart_with_many_tools": [
        "3 of 352 tools shown",
        '-> tool_search(query="',
        "-> workbench_sphere_volume(radius=3)",
        "113.097335529",
    ],
    TWO_SERVERS: [
        '-> units_convert_units(value=80, from_unit="days", to_unit="weeks")',
        '-> library_search_books(query="travel")',
        '-> make_poster(title="Around the World in Eighty Days")',
        "*** Around the World in Eighty Days ***",
        "80 d = 11.42857143 wk",
    ],
    "ex08_native_and_text": [
        "offline rules, 2 tools\n", "26.2 mi = 42.1648128 km",
        "text protocol", "26.2 mi = 42.1648128 km",
    ],
    "ex06_memory_of_an_agent": [
        '-> create_memory(summary="my dog is called Rex")',
        "-> lookup_memory",
        "2. my dog is called Rex\n",
    ],
    "ex07_progress_of_an_agent": [
        "Executing: Print\nI will use library_search_books",
        '-> library_borrow_book(reader="Ada", book_id=4)',
        "Executing: Print\nI will use library_list_loans",
    ],
    "ex11_router_with_two_routes": ["AgentRouter", "Executing: Print\n# Rules of the library"],
    "ex10_agent_as_a_tool": [
        '-> ask_librarian(topic="whales")',
        '-> library_search_books(query="whales")',
        "Moby-Dick",
    ],
    "ex12_workflow_as_a_tool": ['-> find_books(topic="whales")', "Moby-Dick"],
    "ex13_history_of_an_agent": [
        "Executing: MCPToolHistory",
        "library.search_books: called",
        "library (Public library 1.0): ",
        "  search_books: ",
    ],
    "ex02_builtin_tools": ["-> builtin_calculate(", " 2. 12\n"],
    "ex15_plan_and_run": [
        "A rough plan for: Search for books", "book_id: books[].book_id of call 1",
        "-> library_borrow_book(book_id=", "-- plan: finished", '"reader": "Ada"',
    ],
    "ex03_mcp_without_a_model": ["search_books(query", "Moby-Dick", "A loan lasts 21 days."],
    "ex14_tools_that_fit_together": [
        "1.00  library: borrow_book(",
        "A search for this finds library/borrow_book first",
        'query: "whales"',
    ],
    WITH_MODEL: ["-> library_list_loans()", "Moby-Dick is on loan."],
}  # fmt: skip
# How many calls are drawn of those that are run again.
CALL_COUNTS = {"ex10_agent_as_a_tool": 1, "ex15_plan_and_run": 2, TWO_SERVERS: 3}


@dataclass(frozen=True)
class Runs:
    """The run of each example, and what the model of one was asked."""

    folder: Path
    results: dict[str, CompletedProcess[str]]
    requests: list[ReceivedRequest]

    def transcript(self, name: str) -> Path:
        return self.folder / f"{name}.jsonl"


def run_all(
    folder: Path, names: Iterable[str], **variables: str
) -> dict[str, CompletedProcess[str]]:
    """Compile and run these workflows; each with its transcript beside it."""

    def run_one(name: str) -> CompletedProcess[str]:
        transcript = str(folder / f"{name}.jsonl")
        return run_script(folder / f"{name}.py", XAI_MCP_TRANSCRIPT=transcript, **variables)

    for name in names:
        compile_workflow(folder / f"{name}.xircuits")
    with ThreadPoolExecutor(4) as pool:  # one after the other each would wait for its servers
        return dict(zip(names, pool.map(run_one, names), strict=True))


@pytest.fixture(scope="module")
def runs(working_folder: Path) -> Runs:
    """Every example as `init` put it there; one with the address of a scripted model."""
    with model_endpoint(SCRIPT) as endpoint:
        for name in OUTPUTS:
            example = working_folder / "examples" / f"{name}.xircuits"
            text = example.read_text(encoding="utf-8").replace(BASE_URL, endpoint.base_url)
            (working_folder / example.name).write_text(text, encoding="utf-8")
        # The key of the environment goes to the address that is named beside it.
        key = {"OPENAI_API_KEY": DUMMY_KEY, "OPENAI_BASE_URL": endpoint.base_url}
        results = run_all(working_folder, OUTPUTS, **key)
    return Runs(working_folder, results, endpoint.requests)


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_example_does_what_it_teaches(runs: Runs, name: str) -> None:
    result = runs.results[name]
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.endswith("\nFinished Executing\n")
    rest = result.stdout
    for text in OUTPUTS[name]:
        assert text in rest, result.stdout
        rest = rest.partition(text)[2]
    assert {flow.name for flow in all_examples()} == {*OUTPUTS}


def test_a_language_model_gets_the_tools_and_their_results_and_its_key_is_not_shown(
    runs: Runs,
) -> None:
    assert {x.body["model"] for x in runs.requests} == {MODEL}
    first, *_, last = runs.requests
    assert {"library_search_books", "library_list_loans"} <= {*first.tool_names}
    assert first.body["messages"][-1] == {"role": "user", "content": FIRST_QUESTION}
    books, loans = last.results
    assert "Moby-Dick" in books
    assert "Esi" in loans
    assert {x.headers["authorization"] for x in runs.requests} == {f"Bearer {DUMMY_KEY}"}
    texts = [x.read_text(encoding="utf-8") for x in runs.folder.glob(f"{WITH_MODEL}.*")]
    assert not any(DUMMY_KEY in x for x in [runs.results[WITH_MODEL].stdout, *texts])


def test_of_many_tools_only_some_are_shown_within_the_budget(runs: Runs) -> None:
    lines = read_transcript(runs.transcript("ex09_quickstart_with_many_tools"))
    first, then = (x for x in lines if x["event"] == "ToolsSelected")
    assert first["deferred"] > 300
    assert "workbench_sphere_volume" in {x["name"] for x in then["shown"]}
    assert all(x["tokens"] <= x["budget_tokens"] == 1500 for x in (first, then))


# Drawn from what was recorded


def calls_in(transcript: Path) -> list[tuple[str, Any]]:
    """The calls of the newest run that can be made again: tools and arguments."""
    calls = runs_in_transcript(read_transcript(transcript))[-1].calls
    repeatable = [x for x in calls if not (x.is_own or x.is_error or x.has_inner_calls)]
    return [(x.name, x.arguments) for x in repeatable]


@pytest.fixture(scope="module")
def drawn_results(runs: Runs) -> dict[str, CompletedProcess[str]]:
    """The runs of the drawn workflows; no model is to be reached."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(runs.folder)
        for name in CALL_COUNTS:
            example = f"examples/{name}.xircuits"
            with pytest.raises(SystemExit) as exit_:
                run(["plan", "draw", f"{name}.jsonl", "--overwrite", "--tools-from", example])
            assert not exit_.value.code
    return run_all(runs.folder, [f"{name}_drawn" for name in CALL_COUNTS])


@pytest.mark.parametrize("name", CALL_COUNTS)
def test_a_recorded_run_is_drawn_and_makes_the_same_calls_without_a_model(
    runs: Runs, drawn_results: dict[str, CompletedProcess[str]], name: str
) -> None:
    result, calls = drawn_results[f"{name}_drawn"], calls_in(runs.transcript(name))
    assert (result.returncode, result.stderr) == (0, "")
    assert "Executing: AgentRun\n" not in result.stdout
    assert len(calls) == CALL_COUNTS[name]
    assert calls_in(runs.transcript(f"{name}_drawn")) == calls
    assert problems(load(runs.folder / f"{name}_drawn.xircuits"), f"{name}_drawn") == []
