"""The examples, compiled by Xircuits' own compiler, run as plain scripts."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.build_examples import BASE_URL, MODEL, QUESTION, openai_compatible
from tests.support.model_endpoint import ModelAsked, calls, model_endpoint, says
from tests.support.scripts import Finished, compile_workflow, run_script
from tests.support.workflows import Workflow

DUMMY_KEY = "sk-dummy-0123456789"


@pytest.fixture(scope="module")
def quickstart(working_folder: Path) -> Finished:
    """The quickstart as `init` put it there, compiled and run."""
    example = working_folder / "examples" / "quickstart.xircuits"
    return run_script(compile_workflow(example, working_folder / "quickstart.py"))


def test_the_quickstart_runs_to_its_end_without_a_key(quickstart: Finished) -> None:
    assert (quickstart.status, quickstart.errors) == (0, "")
    assert quickstart.output.endswith("\nFinished Executing\n")


def test_the_quickstart_uses_two_servers_and_the_drawn_tool(quickstart: Finished) -> None:
    shown = [line.strip() for line in quickstart.output.splitlines()]
    assert '-> units_convert_units(value=80, from_unit="days", to_unit="weeks")' in shown
    assert '-> library_search_books(query="travel")' in shown
    assert '-> make_poster(title="Around the World in Eighty Days")' in shown


def test_the_quickstart_prints_the_answer(quickstart: Finished) -> None:
    answer = quickstart.output.split("Executing: Print")[-1]
    assert "80 d = 11.42857143 wk" in answer
    assert "*** Around the World in Eighty Days ***" in answer


def test_servers_without_a_model_are_listed_called_and_read(working_folder: Path) -> None:
    example = working_folder / "examples" / "mcp_without_a_model.xircuits"
    done = run_script(compile_workflow(example, working_folder / "mcp_without_a_model.py"))
    assert (done.status, done.errors) == (0, "")
    _, tools, books, rules = done.output.split("Executing: Print")
    assert "search_books(query" in tools
    assert "Moby-Dick" in books
    assert "A loan lasts 21 days." in rules


@dataclass(frozen=True)
class WithModel:
    """A run with a scripted language model, and what that was asked."""

    done: Finished
    asked: list[ModelAsked]


@pytest.fixture(scope="module")
def edited(working_folder: Path) -> WithModel:
    """The example for language models with another address, as a learner would edit it."""
    script = [
        calls(
            ("library_search_books", {"query": "travel"}),
            ("units_convert_units", {"value": 80, "from_unit": "day", "to_unit": "week"}),
        ),
        calls(("make_poster", {"title": "Candide"}), text="Now the poster."),
        says("Here is your poster for Candide."),
    ]
    with model_endpoint(script) as endpoint:
        text = openai_compatible().text().replace(BASE_URL, endpoint.base_url)
        file = working_folder / "openai_compatible.xircuits"
        file.write_text(text, encoding="utf-8")
        done = run_script(compile_workflow(file), OPENAI_API_KEY=DUMMY_KEY)
    return WithModel(done, endpoint.requests)


def test_a_language_model_gets_the_tools_and_their_results(edited: WithModel) -> None:
    bodies = [x.body for x in edited.asked]
    assert (edited.done.status, edited.done.errors) == (0, "")
    assert {body["model"] for body in bodies} == {MODEL}
    offered = {tool["function"]["name"] for tool in bodies[0]["tools"]}
    assert {"library_search_books", "units_convert_units", "make_poster"} <= offered
    assert bodies[0]["messages"][-1] == {"role": "user", "content": QUESTION}
    results = [x["content"] for x in bodies[-1]["messages"] if x["role"] == "tool"]
    assert "Candide" in results[0]
    assert "11.42857143" in results[1]
    assert results[2] == "*** Candide ***"


def test_the_answer_of_a_language_model_is_printed(edited: WithModel) -> None:
    assert "Here is your poster for Candide." in edited.done.output.split("Executing: Print")[-1]


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
        "AgentInit", agent_name="a", agent_provider="openai", agent_model="m", base_url=gone
    )
    flow.main(agent, flow.node("AgentRun", agent_name="a", conversation="Hello!"))
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
