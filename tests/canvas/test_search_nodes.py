"""The nodes that find and explain tools without a model, against the example library."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.canvas import make, play
from tests.support.warm_python import warm_python
from xai_mcp_agent import BadSetting, UnknownServer, UnknownTool
from xai_mcp_agent.agent_components import AgentMakeToolbelt, AgentPreferTools, AgentUseMCPTools
from xai_mcp_agent.mcp_components import MCPCallTool, MCPExplainTool, MCPSearchTools

from .conftest import SERVERS, UseServers


@pytest.fixture(autouse=True)
def _known(use_servers: UseServers, library: dict[str, Any]) -> None:
    units = {"command": warm_python(), "args": [str(SERVERS / "units.py")]}
    broken, off = {"command": "no-such-program-anywhere"}, {**library, "disabled": True}
    use_servers(library=library, units=units, broken=broken, half={}, off=off)


def searched(query: Any, **inputs: Any) -> MCPSearchTools:
    node = make(MCPSearchTools, query=query, **inputs)
    play({}, node)
    return node


def test_tools_are_found_in_all_servers_with_scores_and_reasons() -> None:
    node = make(MCPSearchTools, query="lend a book to a reader", limit=2)
    miles, none = (make(MCPSearchTools, query=x) for x in ("convert miles", "xylophone"))
    play({}, node, miles, none)
    assert (node.best_server.value, node.best.value) == ("library", "borrow_book")
    assert len(node.found.value) == 2
    best = node.found.value[0]
    assert (best["server"], best["name"], best["score"]) == ("library", "borrow_book", 1)
    assert any("book" in x for x in best["reasons"])
    assert best["input_schema"]["properties"]
    assert "borrow_book(book_id: integer" in node.summary.value.splitlines()[0]
    assert miles.best_server.value == "units"
    text = miles.summary.value
    assert "Left out: " in text
    assert "no-such-program-anywhere" in text
    assert "half" in text
    assert "off:" not in text, "it is switched off on purpose"
    assert (none.found.value, none.best.value, none.best_server.value) == ([], "", "")
    assert "MCPListTools" in none.summary.value


def test_the_summary_says_what_a_search_by_meaning_had_to_do_without(
    use_servers: UseServers, library: dict[str, Any]
) -> None:
    file = use_servers(library=library)
    settings = {**json.loads(file.read_text()), "toolSearch": {"embeddings": {"folder": "nowhere"}}}
    file.write_text(json.dumps(settings), encoding="utf-8")
    summary = searched("lend a book").summary.value
    assert "Note: Words alone count: the embedding model cannot be used." in summary.splitlines()


def test_a_toolbelt_is_searched_without_what_it_blocks() -> None:
    def found(*before: Any) -> set[str]:
        belt = make(AgentMakeToolbelt)
        node = make(MCPSearchTools, query="book, miles", toolbelt_spec=belt.toolbelt_spec)
        play({}, *before, belt, node)
        assert "Left out" not in node.summary.value
        return {x["name"] for x in node.found.value}

    use = make(AgentUseMCPTools, server_name="library")
    assert found() == set()
    assert "borrow_book" in found(use)
    assert "convert_units" not in found(use)
    assert "borrow_book" not in found(use, make(AgentPreferTools, blocked="library/borrow*"))


def test_a_found_tool_is_explained_and_its_example_can_be_called() -> None:
    """From words to a result, without a model."""
    search = make(MCPSearchTools, query="details of a book")
    explain = make(MCPExplainTool, server_name=search.best_server, tool_name=search.best)
    call = make(
        MCPCallTool, server_name=search.best_server, tool_name=search.best,
        arguments=explain.example,
    )  # fmt: skip
    play({}, search, explain, call)
    assert explain.definition.value["signature"] == "get_book(book_id: integer)"
    assert explain.definition.value["example"] == explain.example.value
    assert not call.is_error.value
    assert "Example: get_book {" in explain.summary.value


def test_a_tool_that_there_is_not_is_reported_with_the_nearest() -> None:
    with pytest.raises(UnknownTool, match="Did you mean 'search_books'"):
        play({}, make(MCPExplainTool, server_name="library", tool_name="serch_books"))
    with pytest.raises(UnknownServer, match="library"):
        play({}, make(MCPExplainTool, server_name="librery", tool_name="search_books"))
    with pytest.raises(BadSetting, match="`tool_name`"):
        play({}, make(MCPExplainTool, server_name="library"))
