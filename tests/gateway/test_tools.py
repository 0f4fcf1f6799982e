"""The tools for finding, planning and calling tools that are not listed (`spec/5`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.conftest import FarClient, write_settings
from tests.support.fault_server import catalog_entry
from tests.support.many_tools import many_tools
from xai_mcp_agent import ToolResult
from xai_mcp_agent.gateway.endpoint import Listing

Connect = Callable[..., FarClient]
META = {"tool_search", "tool_explain", "select_tool", "plan_tools", "list_tools", "execute_tool"}
LIBRARY = {"library_find_books", "library_lend", "library_write_letter"}


def names(result: ToolResult) -> list[str]:
    return [x["name"] for x in result.structured["tools"]]


def test_a_client_finds_reads_and_calls_a_tool(connect: Connect):
    """Spec 3: search, explain, call; a client's model can call only listed tools."""
    client = connect(tools="search")
    matches = client.call("tool_search", query="lend somebody a book")
    assert names(matches)[0] == "library_lend"
    assert matches.text.endswith("Call them with `execute_tool`, by these names.")
    explained = client.call("tool_explain", tool="library/lend").text
    assert 'Example: execute_tool {"tool": "library_lend", "arguments": {"book_id"' in explained
    for name in ("library/lend", "library_lend", "lend"):
        result = client.call("execute_tool", tool=name, arguments={"book_id": "b7"})
        assert result.structured == {"loan": "b7 to Ada"}


def test_a_tool_is_selected_and_a_request_planned(connect: Connect):
    client = connect()
    selected = client.call("select_tool", request="find books about the sea")
    assert names(selected)[0] == "library_find_books"
    assert selected.structured["confidence"] > 0
    planned = client.call("plan_tools", request="Find books about ships and lend the first.")
    assert names(planned) == ["library_find_books", "library_lend"]


def test_a_wrong_name_is_an_error_result_with_the_nearest_names(folder: Path, connect: Connect):
    write_settings(folder, mcpServers={"gone": {"command": "no-such-program"}})
    client = connect()
    mistakes: list[tuple[str, dict[str, Any], str]] = [
        ("execute_tool", {"tool": "library/len", "arguments": {}}, "'library_lend'"),
        ("execute_tool", {"tool": "gone_x"}, "The tool 'gone_x' cannot be used now. gone: "),
        ("tool_explain", {"tool": "libary/lend"}, "'library_lend'"),
        ("list_tools", {"server": "libary"}, "Did you mean 'library'?"),
    ]
    for name, arguments, message in mistakes:
        result = client.call(name, **arguments)
        assert result.is_error
        assert message in result.text


def test_tools_are_listed_page_by_page_with_filters(folder: Path, connect: Connect):
    many = many_tools()
    write_settings(folder, mcpServers={"many": catalog_entry(folder / "many.jsonl", many)})
    client = connect(names=("many",))
    filters: dict[str, Any] = {"server": "many", "text": "WAREHOUSE"}
    pages = [client.call("list_tools", **filters)]
    while cursor := pages[-1].structured.get("next_cursor"):
        pages.append(client.call("list_tools", cursor=cursor, **filters))
    names = [x for page in pages for x in page.structured["listed"]]
    expected = [x for x in many if "warehouse" in f"{x['name']} {x['description']}".lower()]
    assert len(pages) > 1
    assert names == sorted(f"many_{x['name']}" for x in expected)
    assert {x.structured["total"] for x in pages} == {len(expected)}


def test_an_endpoint_offers_only_its_own_tools(folder: Path, connect: Connect):
    """A toolbelt or group is a virtual server."""
    write_settings(folder, groups={"letters": {"include": ["library/write_letter"]}})
    client = connect(names=("letters",), tools="search")
    assert client.call("list_tools").structured["listed"] == ["library_write_letter"]
    matches = client.call("tool_search", query="lend a book and write a letter")
    assert names(matches) == ["library_write_letter"]
    refusal = client.call("execute_tool", tool="library/lend", arguments={"book_id": "b7"})
    assert (refusal.is_error, "library/lend" in refusal.text) == (True, True)


@pytest.mark.parametrize(
    ("tools", "budget", "names"),
    [
        ("all", 1, LIBRARY),
        ("auto", 3800, LIBRARY),
        ("auto", 100, {"library_lend", *META}),
        ("search", 3800, {"library_lend", *META}),
    ],
)
def test_tools_that_do_not_fit_are_found_by_search_instead_of_listed(
    folder: Path, connect: Connect, tools: Listing, budget: int, names: set[str]
):
    write_settings(folder, toolSearch={"alwaysShown": ["library/lend"], "tokenBudget": budget})
    assert {*connect(tools=tools).list_tools()} == names
