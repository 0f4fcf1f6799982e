"""Which tools an agent is shown: its budget, and what nodes always show, trust and block."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.canvas import make, play
from tests.support.model_endpoint import ModelEndpoint, calls, model_endpoint, says
from xai_mcp_agent import BadSetting, NoTools
from xai_mcp_agent.agent_components import (
    AgentInit,
    AgentMakeToolbelt,
    AgentPreferTools,
    AgentRun,
    AgentRunTool,
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


def test_without_a_budget_of_its_own_an_agent_has_that_of_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "library_search_books" in shown_by()
    monkeypatch.setenv("XAI_TOOL_BUDGET", "400")
    assert shown_by() >= BOTH
    assert "library_search_books" in shown_by(tool_token_budget=10_000)


def test_a_group_of_the_settings_is_blocked_and_always_shown_by_its_name(
    use_servers: UseServers, library: dict[str, Any], tmp_path: Path
) -> None:
    use_servers(library=library)
    file = tmp_path / "mcp_settings.json"
    written = json.loads(file.read_text())
    finding = {"selectors": [{"name": ["search_*"]}]}
    file.write_text(json.dumps({**written, "groups": {"finding": finding}}))
    node = make(AgentPreferTools, toolbelt_name="default", blocked="finding")
    names = shown_by(node)
    assert "library_library_statistics" in names
    assert "library_search_books" not in names
    shown = make(AgentPreferTools, toolbelt_name="default", always_shown="finding")
    assert "library_search_books" in shown_by(shown, tool_token_budget=400)


def test_an_agent_with_a_small_budget_searches_for_its_tools() -> None:
    names = shown_by(tool_token_budget=400)
    assert names >= BOTH
    assert "library_library_statistics" not in names


def test_an_update_changes_the_budget_and_leaves_it_alone_when_it_says_nothing() -> None:
    ctx: dict[str, Any] = {}
    play(ctx, *agent_with(tool_token_budget=400))
    play(ctx, make(AgentUpdate, agent_name="a", new_system_prompt="Be kind."))
    assert ctx["agent_a"]["model_settings"]["tool_token_budget"] == 400
    play(ctx, make(AgentUpdate, agent_name="a", new_tool_token_budget=10_000))
    assert ctx["agent_a"]["model_settings"]["tool_token_budget"] == 10_000


@pytest.mark.parametrize(
    "tools",
    ["library_statistics", "get_book, library/library_stat*", ["library.library_statistics"]],
)
def test_an_always_shown_tool_is_in_every_request(tools: Any) -> None:
    shown = make(AgentPreferTools, always_shown=tools)
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


def test_a_blocked_tool_cannot_be_used_by_hand_either() -> None:
    block = make(AgentPreferTools, blocked="library")
    node = make(AgentRunTool, agent_name="a", tool_name="library_search_books", tool_args={})
    play({}, *agent_with(block), node)
    assert "blocked" in node.tool_output.value


def test_a_trusted_tool_comes_first() -> None:
    def found(*preferring: Any) -> str:
        ask = calls(("tool_search", {"query": "return or borrow", "max_results": 6}))
        with model_endpoint([ask, says("Done.")]) as endpoint:
            run = make(AgentRun, agent_name="a", conversation="Hello!")
            play({}, *agent_with(*preferring, **endpoint.inputs, tool_token_budget=400), run)
        return str(endpoint.requests[-1].body["messages"][-1]["content"])

    assert found(make(AgentPreferTools, trusted="return_book")).startswith("library_return_book(")


def test_of_what_a_search_finds_the_best_is_the_last_to_give_way() -> None:
    """A small budget has room for some of them only."""
    ask = calls(("tool_search", {"query": "details of a book", "max_results": 6}))
    with model_endpoint([ask, says("Done.")]) as endpoint:
        run = make(AgentRun, agent_name="a", conversation="Hello!")
        play({}, *agent_with(**endpoint.inputs, tool_token_budget=400), run)
    found = str(endpoint.requests[1].body["messages"][-1]["content"]).splitlines()
    assert found[0].startswith("library_get_book(")
    left = shown(endpoint, 1) - BOTH
    assert "library_get_book" in left
    assert len(left) < len(found) - 1


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


@pytest.mark.parametrize("wrong", [3, {"a": 1}, ["a", 3], ["a", None]])
def test_names_of_a_spec_that_are_invalid_are_reported_with_their_key(wrong: Any) -> None:
    spec = {"standard_tools": {}, "mcp_servers": [], "blocked_tools": wrong}
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


def test_names_are_not_doubted_where_a_server_could_not_be_used(
    use_servers: UseServers, capsys: pytest.CaptureFixture[str]
) -> None:
    """What they name may be there."""
    use_servers(library={"command": "no-such-program-anywhere"})
    shown = make(AgentPreferTools, always_shown="search_books")
    with pytest.raises(NoTools):
        play({}, *agent_with(shown), make(AgentRun, agent_name="a", conversation="Hello!"))
    assert "search_books" not in capsys.readouterr().out


def test_groups_of_the_settings_may_be_named(
    use_servers: UseServers, library: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    file = use_servers(library=library)
    settings = json.loads(file.read_text(encoding="utf-8"))
    settings["toolSearch"] = {"groups": {"lending": ["borrow_book", "return_book"]}}
    file.write_text(json.dumps(settings), encoding="utf-8")
    names = shown_by(make(AgentPreferTools, blocked="lending"))
    assert "library_search_books" in names
    assert not names & {"library_borrow_book", "library_return_book"}
    assert "lending" not in capsys.readouterr().out


def test_calls_are_made_in_the_name_of_the_toolbelt(monkeypatch: pytest.MonkeyPatch) -> None:
    from xai_mcp_agent.bridge.pipeline import CallPipeline

    callers: list[Any] = []
    run = CallPipeline.run

    async def spied(self: Any, invocation: Any, *rest: Any) -> Any:
        callers.append(invocation.caller)
        return await run(self, invocation, *rest)

    monkeypatch.setattr(CallPipeline, "run", spied)
    node = make(AgentRunTool, agent_name="a", tool_name="library_search_books", tool_args={})
    play({}, *agent_with(toolbelt="mine"), node)
    assert [(x.name, x.toolbelt) for x in callers] == [("a", "mine")]
