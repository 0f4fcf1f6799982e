"""Groups and filters on the canvas: only what a person named is shown, found and called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.canvas import agent_nodes, make, play
from tests.support.fault_http import FaultHttp, fault_http
from tests.support.model_endpoint import ModelEndpoint, calls, model_endpoint, says
from xai_mcp_agent import BadSetting, NoTools, SettingsError, UnknownServer
from xai_mcp_agent.agent_components import (
    AgentInit,
    AgentMakeToolbelt,
    AgentRun,
    AgentUseMCPTools,
    AgentUseTools,
)
from xai_mcp_agent.mcp_components import MCPListTools, MCPSearchTools

from .conftest import UseServers

GROUPS = {
    "finding": {"selectors": [{"source": "library", "name": "*search*"}], "exclude": ["none"]},
    "reads": {"selectors": [{"source": "tagged", "tags": "read"}]},
    "both": {"include": ["library/search_books", "tagged/b"]},
    "empty": {"selectors": [{"source": "library", "name": "nothing_like_it"}]},
    "odd": {"include": ["libary/x", "library/serch_books"]},
    "wrong": {"selectors": [{"nmae": "x"}]},
}


THREE = {"library_search_books", "tagged_a", "tagged_b"}


def listed(name: str, *tags: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, "_meta": {"fastmcp": {"tags": tags}}}


@pytest.fixture
def tagged() -> Iterator[FaultHttp]:
    with fault_http(era="modern", tools=[listed("a", "read"), listed("b")]) as peer:
        yield peer


@pytest.fixture(autouse=True)
def _known(use_servers: UseServers, library: dict[str, Any], tagged: FaultHttp) -> None:
    file = use_servers(library=library, tagged=tagged.entry(breaker={"failures": 2}))
    written = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**written, "groups": GROUPS}), encoding="utf-8")


def run(endpoint: ModelEndpoint, *using: Any) -> None:
    run = make(AgentRun, agent_name="a", conversation="Hello!")
    play({}, *agent_nodes(*using, **endpoint.inputs), run)


def shown_by(*using: Any) -> set[str]:
    with model_endpoint([says("Done.")]) as endpoint:
        run(endpoint, *using)
        body = endpoint.requests[0].body
        return {x["function"]["name"] for x in body.get("tools", [])} - {"read_result"}


def use(name: str, **inputs: Any) -> AgentUseTools:
    return make(AgentUseTools, group_name=name, **inputs)


def server(**inputs: Any) -> AgentUseMCPTools:
    return make(AgentUseMCPTools, server_name="tagged", **inputs)


@pytest.mark.parametrize(
    ("using", "shown"),
    [
        (lambda: [use("reads")], {"tagged_a"}),
        (lambda: [use("library", tools="search_books")], {"library_search_books"}),
        (lambda: [use("both")], {"library_search_books", "tagged_b"}),
        (lambda: [use("both"), server(tools="a")], THREE),
        (lambda: [use("reads"), server(except_tools="a")], {"tagged_b"}),
        (lambda: [server(tools=[])], set()),
        (lambda: [server(tools='"a", "x"')], {"tagged_a"}),
        (lambda: [server(tools="a"), server(tools="b")], {"tagged_a", "tagged_b"}),
    ],
)  # fmt: skip
def test_a_toolbelt_has_what_its_nodes_took_together(using: Any, shown: set[str]):
    if shown:
        assert shown_by(*using()) == shown
    else:
        with pytest.raises(NoTools, match="not in the toolbelt"):
            shown_by(*using())


@pytest.mark.parametrize(
    ("node", "error", "said"),
    [
        (lambda: use("wrong"), SettingsError, "nmae"),
        (lambda: use("findin"), UnknownServer, "finding"),
        (lambda: use("tagged_server"), UnknownServer, "tagged"),
        (
            lambda: make(AgentUseMCPTools, server_name="finding"),
            UnknownServer,
            "The node for what stands there is AgentUseTools",
        ),
    ],
)
def test_a_mistake_is_reported_at_its_node(node: Any, error: type[Exception], said: str):
    with pytest.raises(error, match=said):
        play({}, node())


def test_a_tool_that_is_left_out_is_neither_called_nor_found(tagged: FaultHttp):
    script = [calls(("tagged_b", {})), says("Done.")]
    with model_endpoint(script) as endpoint:
        run(endpoint, server(tools="a"))
        answers = [
            x["content"] for x in endpoint.requests[1].body["messages"] if x["role"] == "tool"
        ]
    assert "is not among the tools of this agent" in answers[0]
    assert "tools/call" not in tagged.methods


def test_what_a_person_named_and_is_not_there_is_reported_with_the_nearest(
    capsys: pytest.CaptureFixture[str],
):
    shown_by(use("odd"), use("empty"), server(tools="aa, b", except_tools="bb"))
    with pytest.raises(NoTools):
        shown_by(server(except_tools="*"))
    printed = " ".join(capsys.readouterr().out.split())
    for said in (
        "names the source 'libary', which is not there",
        "'library/serch_books', which is not there. Did you mean 'search_books'",
        "The group 'empty' has no tools",
        "tagged has no tool 'aa'.",
        "tagged has no tool 'bb'.",
    ):
        assert said in printed
    assert printed.count("`tools` and `except_tools` of its node leave none of its 2.") == 1


def test_a_spec_with_a_filter_that_cannot_be_read_is_refused():
    """As another one it could let in what nobody wants."""
    for filters in ({"tagged": {"onyl": ["a"]}}, {"tagged": ["a"]}, {"tagged": {"only": 5}}, 5):
        spec = {"standard_tools": {}, "mcp_servers": ["tagged"], "tool_filters": filters}
        with pytest.raises(BadSetting):
            play({}, make(AgentInit, agent_name="a", toolbelt_spec=spec))


def test_a_group_is_listed_and_searched_like_a_server():
    tools = make(MCPListTools, server_name="both")
    use_both, belt = use("both"), make(AgentMakeToolbelt)
    search = make(MCPSearchTools, query="search books", toolbelt_spec=belt.toolbelt_spec)
    play({}, tools, use_both, belt, search)
    assert [x["name"] for x in tools.tools.value] == ["search_books", "b"]
    assert {x["name"] for x in search.found.value} <= {"search_books", "b"}
    assert search.best.value == "search_books"
