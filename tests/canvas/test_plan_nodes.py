"""The nodes that plan a request and run a plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from xai_components.base import Component

from tests.support.canvas import call, make, play, tool_nodes
from tests.support.processes import lines_in
from tests.support.shredder_server import shredder_entry
from xai_mcp_agent import BadSetting, UnknownTool
from xai_mcp_agent.agent_components import AgentMakeToolbelt, AgentUseMCPTools
from xai_mcp_agent.canvas.planning import PlanStopped
from xai_mcp_agent.mcp_components import MCPPlan, MCPRunPlan
from xai_mcp_agent.planning import BadPlan

from .conftest import UseServers

TITLE = {"title": "string"}
UNKNOWN_BOOK = {"book_id": {"missing": "Which book is it?"}}
LEND = {
    "calls": [
        {"tool": "library/search_books", "args": {"query": "sea"}},
        {"tool": "library/get_book", "args": UNKNOWN_BOOK},
    ]
}
SHRED = {"calls": [{"tool": "shredder/shred", "args": {"paper": "the will"}}]}


@pytest.fixture(autouse=True)
def _servers(use_servers: UseServers, library: dict[str, Any], tmp_path: Path) -> None:
    use_servers(library=library, shredder=dict(shredder_entry(tmp_path / "journal")))


def branch() -> tuple[Any, list[str]]:
    """A branch, and a list that grows when the branch runs."""
    visits: list[str] = []
    return call(lambda _: visits.append("here")), visits


def test_a_request_is_planned_and_the_plan_is_run() -> None:
    plan = make(MCPPlan, request="Search the library for books about 'sea'.")
    run = make(MCPRunPlan, plan=plan.plan)
    play({}, plan, run)
    assert [x["tool"] for x in plan.plan.value["calls"]] == ["search_books"]
    assert plan.problems.value == []
    assert "rough plan" in plan.summary.value
    assert (run.status.value, run.problem.value) == ("finished", "")
    assert run.result.value["books"]
    assert run.results.value == [run.result.value]


@pytest.mark.parametrize("has_branch", [True, False])
def test_a_missing_value_leads_to_its_branch(has_branch: bool) -> None:
    plan = make(MCPPlan, request="Shred a paper.")
    (way_on, visits), (after, later) = branch(), branch()
    if has_branch:
        plan.on_missing = way_on
    play({}, plan, after)
    assert plan.problems.value
    assert (bool(visits), bool(later)) == (has_branch, not has_branch)


def test_a_plan_with_a_missing_value_stops_at_its_branch() -> None:
    run = make(MCPRunPlan, plan=LEND)
    (run.on_missing, visits), (after, later) = branch(), branch()
    play({}, run, after)
    assert (visits, later, len(run.results.value)) == (["here"], [], 1)


def poster(posters: list[Any], **ports: Any) -> list[Component]:
    """A tool that is drawn: it makes a poster of a title, and notes what it was given."""

    def draw(arguments: str) -> str:
        posters.append(json.loads(arguments))
        return f"*** {posters[-1]['title']} ***"

    words = "Make a poster of the title of a book."
    return tool_nodes("make_poster", draw, description=words, parameters=TITLE, **ports)


def test_a_plan_over_a_toolbelt_has_the_tools_that_are_drawn_and_runs_them() -> None:
    """It runs them as an agent with that toolbelt does, with the results of earlier calls."""
    posters: list[Any] = []
    use = make(AgentUseMCPTools, server_name="library")
    belt = make(AgentMakeToolbelt)
    request = "Search for books about 'sea', then make a poster of the title of that book."
    plan = make(MCPPlan, request=request, toolbelt_spec=belt.toolbelt_spec)
    run = make(MCPRunPlan, plan=plan.plan, toolbelt_spec=belt.toolbelt_spec)
    play({}, use, belt, plan, run, tools=[poster(posters)])
    assert [x["tool"] for x in plan.plan.value["calls"]] == ["search_books", "make_poster"]
    assert posters == [{"title": "Moby-Dick"}]
    assert (run.status.value, run.text.value) == ("finished", "*** Moby-Dick ***")


POSTER = {"calls": [{"tool": "canvas/make_poster", "args": {"title": "Emma"}}]}


def test_a_plan_calls_what_is_drawn_in_its_workflow_or_its_toolbelt() -> None:
    posters: list[Any] = []
    run = make(MCPRunPlan, plan=POSTER)
    play({}, run, tools=[poster(posters)])
    assert (run.status.value, posters) == ("finished", [{"title": "Emma"}])
    belt = make(AgentMakeToolbelt)
    other = make(MCPRunPlan, plan=POSTER, toolbelt_spec=belt.toolbelt_spec)
    for tools in ([poster(posters, for_toolbelt="other")], []):
        with pytest.raises(UnknownTool, match="No tool 'make_poster' is drawn"):
            play({}, belt, other, tools=tools)
    strict_belt = make(AgentMakeToolbelt, approval="make_poster: ask")
    waits = make(MCPRunPlan, plan=POSTER, toolbelt_spec=strict_belt.toolbelt_spec)
    play({}, strict_belt, waits, tools=[poster(posters)])
    assert (waits.status.value, len(posters)) == ("waiting", 1)


def test_a_plan_stops_at_what_is_missing_and_goes_on_when_it_is_run_again(tmp_path: Path) -> None:
    state, file = str(tmp_path / "lend.run.json"), tmp_path / "plan.json"
    file.write_text(json.dumps(LEND), encoding="utf-8")
    run = make(MCPRunPlan, plan=str(file), run_state=state)
    with pytest.raises(PlanStopped, match="`book_id` is missing: Which book is it"):
        play({}, run)
    assert run.status.value == "missing"
    assert run.missing.value == [{"call": 2, "parameter": "book_id", "reason": "Which book is it?"}]
    run = make(MCPRunPlan, plan=str(file), run_state=state, given={"2.book_id": 14})
    play({}, run)
    assert run.result.value["title"] == "Moby-Dick"
    assert "Moby-Dick" in run.text.value
    assert not Path(state).exists(), "the next one begins anew"


def test_a_call_that_needs_approval_waits(tmp_path: Path) -> None:
    run = make(MCPRunPlan, plan=SHRED, run_state=str(tmp_path / "x.json"), agent_name="clerk")
    run.on_waiting, visits = branch()
    after, later = branch()
    play({}, run, after)
    assert (run.status.value, visits, later) == ("waiting", ["here"], [])
    assert "xai-mcp-agent plan approve" in run.problem.value
    assert lines_in(tmp_path / "journal") == []
    belt = {"standard_tools": {}, "mcp_servers": [], "approval": {"shredder/*": "allow"}}
    play({}, make(MCPRunPlan, plan=SHRED, toolbelt_spec=belt))
    assert lines_in(tmp_path / "journal") == ["shredded the will"]


def test_an_error_leads_to_its_branch_or_ends_the_workflow() -> None:
    bad = {"calls": [{"tool": "library/get_book", "args": {"book_id": 999}}]}
    with pytest.raises(PlanStopped, match="Call 1, library/get_book, failed"):
        play({}, make(MCPRunPlan, plan=bad))
    unknown = {"calls": [{"tool": "library/get_bok", "args": {}}]}
    with pytest.raises(UnknownTool, match="get_book"):
        play({}, make(MCPRunPlan, plan=unknown))
    for plan in (bad, unknown, {"calls": 5}):
        run = make(MCPRunPlan, plan=plan)
        run.on_error, visits = branch()
        play({}, run)
        assert (run.status.value, visits) == ("failed", ["here"])
        assert run.problem.value


def test_ports_with_something_else_are_reported() -> None:
    for node, error, words in (
        (make(MCPRunPlan), BadSetting, "MCPRunPlan has nothing to run"),
        (make(MCPRunPlan, plan=5), BadPlan, "`plan` of MCPRunPlan"),
        (make(MCPRunPlan, plan=LEND, given={"x": 1}), BadSetting, "no place for 'x'"),
    ):
        with pytest.raises(error, match=words):
            play({}, node)
