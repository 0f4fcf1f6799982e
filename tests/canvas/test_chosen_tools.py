"""The tools that an agent has and sees: groups, filters, its budget, preferences of a person."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.support.canvas import agent_nodes, ask_scripted, make, play
from tests.support.fault_http import FaultHttp, fault_http
from tests.support.model_endpoint import ReceivedRequest, Step, calls, says
from xai_mcp_agent import BadSetting, NoTools, SettingsError, UnknownServer
from xai_mcp_agent.agent_components import (
    AgentInit,
    AgentMakeToolbelt,
    AgentPreferTools,
    AgentRun,
    AgentUpdate,
    AgentUseMCPTools,
    AgentUseTools,
)
from xai_mcp_agent.catalog.groups import ToolFilter
from xai_mcp_agent.mcp_components import MCPListTools, MCPSearchTools

from .conftest import UseServers

GROUPS = {
    "finding": {"selectors": [{"source": "library", "name": "*search*"}], "exclude": ["none"]},
    "reads": {"selectors": [{"source": "tagged", "tags": "read"}]},
    "both": {"include": ["library/search_books", "tagged/b"]},
    "empty": {"selectors": [{"source": "library", "name": "nothing_like_it"}]},
    "odd": {"include": ["library/serch_books"]},
    "wrong": {"selectors": [{"nmae": "x"}]},
}


BOTH = {"tool_search", "tool_explain"}
THREE = {"library_search_books", "tagged_a", "tagged_b"}


def definition(name: str, *tags: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, "_meta": {"fastmcp": {"tags": tags}}}


@pytest.fixture
def tagged() -> Iterator[FaultHttp]:
    with fault_http(era="modern", tools=[definition("a", "read"), definition("b")]) as peer:
        yield peer


@pytest.fixture(autouse=True)
def _servers(use_servers: UseServers, library: dict[str, Any], tagged: FaultHttp) -> None:
    use_servers({"groups": GROUPS}, library=library, tagged=tagged.entry())


def run(*steps: Step, using: Sequence[Any], **inputs: Any) -> list[ReceivedRequest]:
    """Run an agent with these nodes and this model; return what the model was asked."""
    return ask_scripted([*steps, says("Done.")], *using, **inputs)


def names_in(request: ReceivedRequest) -> set[str]:
    return {*request.tool_names} - {"read_result"}


def names_with(*nodes: Any, **inputs: Any) -> set[str]:
    return names_in(run(using=nodes, **inputs)[0])


def use(name: str, **inputs: Any) -> AgentUseTools:
    return make(AgentUseTools, group_name=name, **inputs)


def server(**inputs: Any) -> AgentUseMCPTools:
    return make(AgentUseMCPTools, server_name="tagged", **inputs)


@pytest.mark.parametrize(
    ("using", "expected"),
    [
        (lambda: [use("reads")], {"tagged_a"}),
        (lambda: [use("library", tools="search_books")], {"library_search_books"}),
        (lambda: [use("both"), server(tools="a")], THREE),
        (lambda: [use("reads"), server(except_tools="a")], {"tagged_b"}),
        (lambda: [server(tools='"a", "x"')], {"tagged_a"}),
        (lambda: [server(tools="a"), server(tools="b")], {"tagged_a", "tagged_b"}),
    ],
)  # fmt: skip
def test_a_toolbelt_has_the_tools_of_all_its_nodes(using: Any, expected: set[str]):
    assert names_with(*using()) == expected


def test_a_toolbelt_without_tools_is_an_error():
    with pytest.raises(NoTools, match="not in the toolbelt"):
        names_with(server(tools=[]))


@pytest.mark.parametrize(
    ("node", "error", "words"),
    [
        (use("wrong"), SettingsError, "nmae"),
        (use("findin"), UnknownServer, "finding"),
        (make(AgentUseMCPTools, server_name="finding"), UnknownServer, "node .* AgentUseTools"),
    ],
)
def test_a_mistake_is_reported_at_its_node(node: Any, error: type[Exception], words: str):
    with pytest.raises(error, match=words):
        play({}, node)


def test_a_tool_that_is_left_out_is_neither_called_nor_found(tagged: FaultHttp):
    _, last = run(calls(("tagged_b", {})), using=[server(tools="a")])
    assert "is not among the tools of this agent" in last.results[0]
    assert "tools/call" not in tagged.methods


def test_an_unknown_name_in_a_group_or_a_filter_is_reported(capsys: pytest.CaptureFixture[str]):
    names_with(use("odd"), use("empty"), server(tools="aa, b", except_tools="bb"))
    with pytest.raises(NoTools):
        names_with(server(except_tools="*"))
    output = " ".join(capsys.readouterr().out.split())
    for words in (
        "'library/serch_books', which does not exist. Did you mean 'search_books'",
        "The group 'empty' has no tools",
        "tagged has no tool 'aa'.",
        "tagged has no tool 'bb'.",
    ):
        assert words in output
    assert output.count("`tools` and `except_tools` of its node leave none of its 2.") == 1


def test_a_spec_with_a_filter_that_cannot_be_read_is_refused():
    """A guess could let in unwanted tools."""
    entries = ({"onyl": ["a"]}, ["a"], {"tools": 5}, None, "")
    filters = (*({"tagged": x} for x in entries), 5)
    for wrong in (*({"tool_filters": x} for x in filters), {"blocked_tools": ["a", 3]}):
        spec = {"standard_tools": {}, "mcp_servers": ["tagged"], **wrong}
        (key,) = wrong
        with pytest.raises(BadSetting, match=key):
            play({}, make(AgentInit, agent_name="a", toolbelt_spec=spec))


def test_a_spec_without_drawn_tools_is_plain_json():
    """So it can be printed, and written by hand."""
    ctx: dict[str, Any] = {}
    belt = make(AgentMakeToolbelt)
    play(ctx, server(tools="a, b", except_tools="b"), belt)
    spec = json.loads(json.dumps(belt.toolbelt_spec.value))
    assert spec["tool_filters"] == {"tagged": {"tools": ["a", "b"], "except_tools": ["b"]}}
    play(ctx, make(AgentInit, agent_name="a", toolbelt_spec=spec))
    assert ctx["agent_a"]["tool_filters"] == {"tagged": ToolFilter(("a", "b"), ("b",))}


def test_a_group_is_listed_and_searched_like_a_server():
    tools = make(MCPListTools, server_name="both")
    belt = make(AgentMakeToolbelt)
    search = make(MCPSearchTools, query="search books", toolbelt_spec=belt.toolbelt_spec)
    play({}, tools, use("both"), belt, search)
    assert [x["name"] for x in tools.tools.value] == ["search_books", "b"]
    assert {x["name"] for x in search.found.value} <= {"search_books", "b"}
    assert search.best.value == "search_books"


# What a person prefers


def prefer(**names: Any) -> AgentPreferTools:
    return make(AgentPreferTools, **names)


def test_an_agent_has_its_own_budget_or_that_of_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "library_search_books" in names_with("library")
    small = names_with("library", tool_token_budget=400)
    assert small >= BOTH
    assert "library_library_statistics" not in small
    always = prefer(always_shown="get_book, library/library_stat*")
    assert "library_library_statistics" in names_with("library", always, tool_token_budget=600)
    monkeypatch.setenv("XAI_TOOL_BUDGET", "400")
    assert names_with("library") >= BOTH
    assert "library_search_books" in names_with("library", tool_token_budget=10_000)


def test_a_blocked_tool_is_not_called_and_a_trusted_one_is_found_first() -> None:
    guess = calls(("library_search_books", {"text": "sea"}))
    lend = calls(("tool_search", {"query": "return or borrow", "max_results": 6}))
    using = ["library", prefer(blocked="search_books", trusted="return_book")]
    refused, first = run(guess, lend, using=using, tool_token_budget=500)[-1].results
    assert "blocked" in refused
    assert first.startswith("library_return_book(")


def test_a_preference_is_for_one_toolbelt_only() -> None:
    """The names of several nodes add up, each once, in the order of the nodes."""
    ctx: dict[str, Any] = {}
    nodes = [
        prefer(always_shown="a, b", toolbelt_name="mine"),
        prefer(always_shown=["b", " c "], toolbelt_name="mine"),
        prefer(trusted="t", blocked="x", toolbelt_name="mine"),
        prefer(always_shown="other"),
    ]
    mine, plain = make(AgentMakeToolbelt, name="mine"), make(AgentMakeToolbelt, name="nothing")
    play(ctx, *nodes, mine, make(AgentInit, agent_name="a", toolbelt_spec=mine.toolbelt_spec))
    agent = ctx["agent_a"]
    keys = ("toolbelt_name", "always_shown_tools", "trusted_tools", "blocked_tools")
    assert [agent[key] for key in keys] == ["mine", ["a", "b", "c"], ["t"], ["x"]]
    play(ctx, plain, make(AgentUpdate, agent_name="a", new_toolbelt_spec=plain.toolbelt_spec))
    assert [agent[key] for key in keys] == ["nothing", [], [], []]


def test_a_preferred_name_that_names_nothing_is_reported_and_the_run_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Quiet or not: a tool that is blocked under a wrong name is not blocked."""
    run = make(AgentRun, agent_name="a", conversation="Hello!", show="quiet")
    play({}, *agent_nodes("library", prefer(blocked="serch_books", trusted="library")), run)
    output = " ".join(capsys.readouterr().out.split())
    assert "no tool or server of this agent: 'serch_books'. Did you mean 'search_books'" in output
    assert "'library'" not in output
    assert run.last_response.value
