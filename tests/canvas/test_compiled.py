"""The examples, compiled by Xircuits' own compiler, run as plain scripts."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.model_endpoint import ModelAsked, calls, model_endpoint, says
from tests.support.scripts import Finished, compile_workflow, run_script
from tools.build_examples import all_examples
from tools.example_agents import BASE_URL, FIRST_QUESTION, MODEL, openai_compatible
from tools.workflows import Workflow
from xai_mcp_agent.bridge.transcript import read_transcript

DUMMY_KEY = "sk-dummy-0123456789"


# What the run of each example shows, in this order; the one for language models has tests below.
SHOWN = {
    "ex01_quickstart": ['-> library_search_books(query="sea")', "Moby-Dick"],
    "ex09_quickstart_with_many_tools": [
        "3 of 352 tools shown",
        '-> tool_search(query="',
        "-> workbench_sphere_volume(radius=3)",
        "113.097335529",
    ],
    "ex04_two_servers_and_a_drawn_tool": [
        '-> units_convert_units(value=80, from_unit="days", to_unit="weeks")',
        '-> library_search_books(query="travel")',
        '-> make_poster(title="Around the World in Eighty Days")',
        "*** Around the World in Eighty Days ***",
        "80 d = 11.42857143 wk",
    ],
    "ex08_native_and_text": [
        "offline rules, 2 tools\n",
        "-> units_convert_units",
        "26.2 mi = 42.1648128 km",
        "text protocol",
        "-> units_convert_units",
        "26.2 mi = 42.1648128 km",
    ],
    "ex06_memory_of_an_agent": [
        '-> create_memory(summary="my dog is called Rex")',
        "-> lookup_memory",
        "2. my dog is called Rex\n",
    ],
    "ex07_progress_of_an_agent": [
        "-> library_search_books",
        "Executing: Print\nI will use library_search_books",
        '-> library_borrow_book(reader="Ada", book_id=4)',
        "Executing: Print\nI will use library_borrow_book",
        "-> library_list_loans",
        "Executing: Print\nI will use library_list_loans",
    ],
    "ex11_router_with_two_routes": [
        "Executing: AgentRouter",
        "Executing: MCPReadResource",
        "Executing: Print\n# Rules of the library",
    ],
    "ex10_agent_as_a_tool": [
        '-> ask_librarian(topic="whales")',
        '-> library_search_books(query="whales")',
        "Moby-Dick",
    ],
    "ex12_workflow_as_a_tool": [
        '-> find_books(topic="whales")',
        "Moby-Dick",
    ],
    "ex13_history_of_an_agent": [
        "Executing: MCPToolHistory",
        "library.search_books: called",
        "library (Public library 1.0): ",
        "  search_books: ",
    ],
    "ex02_builtin_tools": ["-> builtin_calculate(", " 2. 12\n"],
    "ex15_plan_and_run": [
        "A rough plan for: Search for books",
        "book_id: books[].book_id of call 1",
        'reader: "Ada" (the request says',
        "-> library_borrow_book(book_id=",
        "-- plan: finished",
        '"reader": "Ada"',
    ],
    "ex03_mcp_without_a_model": ["search_books(query", "Moby-Dick", "A loan lasts 21 days."],
    "ex14_tools_that_fit_together": [
        "1.00  library: borrow_book(",
        "A search for this finds library/borrow_book first",
        'query: "whales"',
    ],
}


@pytest.fixture(scope="module")
def finished(working_folder: Path) -> dict[str, Finished]:
    """Every example that needs no model, as `init` put it there, compiled and run."""
    examples = [working_folder / "examples" / f"{name}.xircuits" for name in SHOWN]
    scripts = [compile_workflow(x, working_folder / f"{x.stem}.py") for x in examples]
    # One after the other each would wait for its servers alone.
    with ThreadPoolExecutor(4) as pool:
        return dict(zip(SHOWN, pool.map(run_script, scripts), strict=True))


def test_every_example_is_run_here() -> None:
    assert {flow.name for flow in all_examples()} == {*SHOWN, openai_compatible().name}


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_does_what_it_teaches_without_a_key(
    finished: dict[str, Finished], name: str
) -> None:
    done = finished[name]
    assert (done.status, done.errors) == (0, "")
    assert done.output.endswith("\nFinished Executing\n")
    rest = done.output
    for wanted in SHOWN[name]:
        assert wanted in rest, done.output
        rest = rest.partition(wanted)[2]


def test_of_many_tools_the_agent_searches_one_and_uses_it_within_its_budget(
    working_folder: Path, tmp_path: Path, finished: dict[str, Finished]
) -> None:
    """What the transcript tells: search, then use, and no request over the budget."""
    lines = tmp_path / "run.jsonl"
    assert finished["ex09_quickstart_with_many_tools"].status == 0  # it is compiled
    script = working_folder / "ex09_quickstart_with_many_tools.py"
    assert run_script(script, XAI_MCP_TRANSCRIPT=str(lines)).status == 0
    told = read_transcript(lines)
    called = [x["tool"] for x in told if x["event"] == "ToolFinished" and not x["is_error"]]
    assert called == ["tool_search", "workbench_sphere_volume"]
    (started,) = (x for x in told if x["event"] == "RunStarted")
    assert len(started["tool_names"]) > 1
    first, then = (x for x in told if x["event"] == "ToolsSelected")
    shown = [{y["name"] for y in x["shown"]} for x in (first, then)]
    assert shown[0] == {"tool_search", "tool_explain", "workbench_weekday_of_date"}
    assert first["deferred"] > 300
    assert "workbench_sphere_volume" in shown[1]
    assert all(x["tokens"] <= x["budget_tokens"] == 1500 for x in (first, then))


@dataclass(frozen=True)
class WithModel:
    """A run with a scripted language model, and what that was asked."""

    done: Finished
    asked: list[ModelAsked]


@pytest.fixture(scope="module")
def edited(working_folder: Path) -> WithModel:
    """The example for language models with another address, as a learner would edit it."""
    script = [
        calls(("library_search_books", {"query": "sea"}), ("library_list_loans", {})),
        says("Moby-Dick is on loan."),
    ]
    with model_endpoint(script) as endpoint:
        text = openai_compatible().text().replace(BASE_URL, endpoint.base_url)
        file = working_folder / "ex05_openai_compatible.xircuits"
        file.write_text(text, encoding="utf-8")
        # The key of the environment goes to the address that is named beside it.
        environment = {"OPENAI_API_KEY": DUMMY_KEY, "OPENAI_BASE_URL": endpoint.base_url}
        done = run_script(compile_workflow(file), **environment)
    return WithModel(done, endpoint.requests)


def test_a_language_model_gets_the_tools_and_their_results(edited: WithModel) -> None:
    bodies = [x.body for x in edited.asked]
    assert (edited.done.status, edited.done.errors) == (0, "")
    assert {body["model"] for body in bodies} == {MODEL}
    offered = {tool["function"]["name"] for tool in bodies[0]["tools"]}
    assert {"library_search_books", "library_list_loans"} <= offered
    assert bodies[0]["messages"][-1] == {"role": "user", "content": FIRST_QUESTION}
    results = [x["content"] for x in bodies[-1]["messages"] if x["role"] == "tool"]
    assert "Moby-Dick" in results[0]
    assert "Esi" in results[1]


def test_the_answer_of_a_language_model_is_printed(edited: WithModel) -> None:
    assert "Moby-Dick is on loan." in edited.done.output.split("Executing: Print")[-1]


def test_the_key_comes_from_the_environment_and_is_shown_nowhere(
    edited: WithModel, working_folder: Path
) -> None:
    assert {x.headers["authorization"] for x in edited.asked} == {f"Bearer {DUMMY_KEY}"}
    files = [*working_folder.glob("openai_compatible.*"), *working_folder.glob("examples/*")]
    texts = [x.read_text(encoding="utf-8") for x in files if x.is_file()]
    assert not any(DUMMY_KEY in text for text in [edited.done.output, edited.done.errors, *texts])


def test_a_missing_service_is_explained_and_ends_the_script_with_an_error(
    working_folder: Path,
) -> None:
    with model_endpoint([]) as endpoint:
        gone = endpoint.base_url
    flow = Workflow("nobody_answers")
    agent = flow.node(
        "AgentInit", agent_provider="openai", agent_model="m", model_settings={"base_url": gone}
    )
    flow.main(agent, flow.node("AgentRun", question="Hello!"))
    done = run_script(compile_workflow(flow.write(working_folder)), OPENAI_API_KEY=DUMMY_KEY)
    assert done.status == 1
    assert gone.removesuffix("/v1") in done.errors
    assert "Finished Executing" not in done.output


def test_a_branch_runs_after_each_use_of_a_tool(working_folder: Path) -> None:
    flow = Workflow("branching")
    belt_of = flow.node("AgentUseMCPTools", server_name="units")
    belt = flow.node("AgentMakeToolbelt")
    agent = flow.node("AgentInit", agent_name="a", toolbelt_spec=belt["toolbelt_spec"])
    run = flow.node("AgentRun", agent_name="a", conversation="How many weeks are 80 days?")
    flow.main(belt_of, belt, agent, run)
    flow.branch(run, "on_thought", flow.node("Print", msg=run["thought"]))
    done = run_script(compile_workflow(flow.write(working_folder)))
    assert done.status == 0, done.errors
    assert done.output.count("Executing: Print") == 1
    assert "units_convert_units" in done.output.split("Executing: Print")[-1].splitlines()[1]


def test_a_plan_over_a_toolbelt_runs_the_nodes_of_a_tool_that_is_drawn(
    working_folder: Path,
) -> None:
    flow = Workflow("plan_with_a_drawn_tool")
    use = flow.node("AgentUseMCPTools", server_name="library")
    belt = flow.node("AgentMakeToolbelt")["toolbelt_spec"]
    request = "Search for books about 'sea', then make a poster of the title of that book."
    plan = flow.node("MCPPlan", request=request, toolbelt_spec=belt)
    run = flow.node("MCPRunPlan", plan=plan["plan"], toolbelt_spec=belt)
    flow.main(use, belt.node, plan, run, flow.node("Print", msg=run["text"]))
    tool = flow.node(
        "AgentDefineTool",
        tool_name="make_poster",
        description="Make a poster of the title of a book.",
        parameters={"title": "string"},
    )
    text = flow.node("FormatString", format_str="*** {title} ***", args=tool["tool_args"])
    flow.side(tool, text, flow.node("AgentToolOutput", results=[text["out_str"]]))
    done = run_script(compile_workflow(flow.write(working_folder)))
    assert done.status == 0, done.errors
    assert "Executing: FormatString" in done.output.split("-> make_poster")[1]
    assert "Executing: Print\n*** Moby-Dick ***" in done.output


def test_outputs_of_a_workflow_are_printed_at_its_end(working_folder: Path) -> None:
    """By the compiler's own script; nothing of ours is needed."""
    flow = Workflow("with_output")
    call = flow.node(
        "MCPCallTool",
        server_name="units",
        tool_name="convert_units",
        arguments={"value": 1, "from_unit": "mile", "to_unit": "km"},
    )
    flow.main(call)
    flow.outputs(call["structured"])
    done = run_script(compile_workflow(flow.write(working_folder)))
    assert done.status == 0, done.errors
    printed = done.output.split("output:\n")[1].split("\n\nFinished")[0]
    assert ast.literal_eval(printed)["result"] == pytest.approx(1.609344)
