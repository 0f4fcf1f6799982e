"""Which tools an agent is shown: its budget, and what nodes always show, trust and block."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.canvas import make, play
from tests.support.model_endpoint import ModelEndpoint, calls, model_endpoint, says
from xai_mcp_agent import BadSetting
from xai_mcp_agent.agent_components import (
    AgentInit,
    AgentMakeToolbelt,
    AgentPreferTools,
    AgentRun,
    AgentUpdate,
    AgentUseMCPTools,
)

from .conftest import UseServers

BOTH = {"tool_search", "tool_explain"}


@pytest.fixture(autouse=True)
def _known(use_servers: UseServers, library: dict[str, Any]) -> None:
    use_servers(library=library)


def agent_with(*preferring: Any, toolbelt: str = "default", **inputs: Any) -> list[Any]:
    belt = make(AgentMakeToolbelt, name=toolbelt)
    use = make(AgentUseMCPTools, server_name="library", toolbelt_name=toolbelt)
    agent = make(AgentInit, agent_name="a", toolbelt_spec=belt.toolbelt_spec, **inputs)
    return [use, *preferring, belt, agent]


def shown(endpoint: ModelEndpoint, request: int = 0) -> set[str]:
    """The names of the functions in a request."""
    return {x["function"]["name"] for x in endpoint.requests[request].body["tools"]}


def shown_by(*preferring: Any, **inputs: Any) -> set[str]:
    with model_endpoint([says("Done.")]) as endpoint:
        run = make(AgentRun, agent_name="a", conversation="Hello!")
        play({}, *agent_with(*preferring, **endpoint.inputs, **inputs), run)
        return shown(endpoint)


def test_an_agent_has_its_own_budget_or_that_of_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "library_search_books" in shown_by()
    small = shown_by(tool_token_budget=400)
    assert small >= BOTH
    assert "library_library_statistics" not in small
    monkeypatch.setenv("XAI_TOOL_BUDGET", "400")
    assert shown_by() >= BOTH
    assert "library_search_books" in shown_by(tool_token_budget=10_000)


def test_an_always_shown_tool_is_in_every_request() -> None:
    shown = make(AgentPreferTools, always_shown="get_book, library/library_stat*")
    assert "library_library_statistics" in shown_by(shown, tool_token_budget=600)


def test_a_blocked_tool_is_not_shown_found_or_called() -> None:
    block = make(AgentPreferTools, blocked="search_books")
    ask = calls(("tool_search", {"query": "search books", "max_results": 20}))
    guess = calls(("library_search_books", {"text": "sea"}))
    with model_endpoint([ask, guess, says("Done.")]) as endpoint:
        run = make(AgentRun, agent_name="a", conversation="Hello!")
        play({}, *agent_with(block, **endpoint.inputs, tool_token_budget=500), run)
    *_, said = endpoint.requests
    results = [x["content"] for x in said.body["messages"] if x["role"] == "tool"]
    assert "library_get_book" in results[0]
    assert not any("library_search_books(" in x for x in results)
    assert "blocked" in results[1]
    assert not any("library_search_books" in shown(endpoint, n) for n in range(3))


def test_a_trusted_tool_comes_first() -> None:
    def found(*preferring: Any) -> str:
        ask = calls(("tool_search", {"query": "return or borrow", "max_results": 6}))
        with model_endpoint([ask, says("Done.")]) as endpoint:
            run = make(AgentRun, agent_name="a", conversation="Hello!")
            play({}, *agent_with(*preferring, **endpoint.inputs, tool_token_budget=400), run)
        return str(endpoint.requests[-1].body["messages"][-1]["content"])

    assert found(make(AgentPreferTools, trusted="return_book")).startswith("library_return_book(")


def test_what_is_preferred_is_reported_of_one_toolbelt_only() -> None:
    """And adds up, each name once, in the order of the nodes."""
    ctx: dict[str, Any] = {}
    nodes = [
        make(AgentPreferTools, always_shown="a, b", toolbelt_name="mine"),
        make(AgentPreferTools, always_shown=["b", " c "], toolbelt_name="mine"),
        make(AgentPreferTools, trusted="t", blocked="x", toolbelt_name="mine"),
        make(AgentPreferTools, always_shown="other"),
    ]
    play(ctx, *nodes, *agent_with(toolbelt="mine"))
    agent = ctx["agent_a"]
    kept = ("toolbelt_name", "always_shown_tools", "trusted_tools", "blocked_tools")
    assert [agent[key] for key in kept] == ["mine", ["a", "b", "c"], ["t"], ["x"]]
    plain = make(AgentMakeToolbelt, name="nothing")
    play(ctx, plain, make(AgentUpdate, agent_name="a", new_toolbelt_spec=plain.toolbelt_spec))
    assert [agent[key] for key in kept] == ["nothing", [], [], []]


def test_names_of_a_spec_that_are_invalid_are_reported_with_their_key() -> None:
    spec = {"standard_tools": {}, "mcp_servers": [], "blocked_tools": ["a", 3]}
    with pytest.raises(BadSetting, match=r"`toolbelt_spec.blocked_tools` of AgentInit"):
        play({}, make(AgentInit, agent_name="a", toolbelt_spec=spec))


def test_a_name_that_names_nothing_is_reported_in_one_line_and_the_run_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Quiet or not: a tool that is blocked under a wrong name is not blocked."""
    block = make(AgentPreferTools, blocked="serch_books", trusted="library")
    run = make(AgentRun, agent_name="a", conversation="Hello!", show="quiet")
    play({}, *agent_with(block), run)
    printed = " ".join(capsys.readouterr().out.split())
    assert "no tool or server of this agent: 'serch_books'. Did you mean 'search_books'" in printed
    assert "'library'" not in printed
    assert run.last_response.value
