"""The tools with which a client finds, plans and calls what it is not listed (`spec/5`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.conftest import Client, write_settings
from tests.support import catalog_server, many_tools
from tests.support.fault_server import entry
from tests.support.warm_python import warm_python
from xai_mcp_agent import ToolResult
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.tools import Tool
from xai_mcp_agent.gateway.tools import GatewayTools, ToolsMode

Connect = Callable[..., Client]
META = ["tool_search", "tool_explain", "select_tool", "plan_tools", "execute_tool", "list_tools"]


def ids(result: Any) -> list[str]:
    return [x["name"] for x in result.structured["tools"]]


def test_a_client_finds_reads_and_calls_a_tool(connect: Connect) -> None:
    """Spec 3: search, explain, call; here by the id, as it is not listed."""
    client, tools = connect(), GatewayTools()
    found = client.call(tools, "tool_search", query="lend somebody a book")
    assert ids(found)[0] == "library/lend"
    assert found.text.endswith("Call them with `execute_tool`, by these names.")
    explained = client.call(tools, "tool_explain", tool="library/lend").text
    assert '"book_id": {"type": "string"}' in explained
    assert 'Example: execute_tool {"tool": "library/lend", "arguments": {"book_id"' in explained
    called = client.call(tools, "execute_tool", tool="library/lend", arguments={"book_id": "b7"})
    assert called.structured == {"loan": "b7 to Ada"}


def test_a_tool_is_selected_and_a_request_planned(connect: Connect) -> None:
    client, tools = connect(), GatewayTools()
    selected = client.call(tools, "select_tool", request="find books about the sea")
    assert ids(selected)[0] == "library/find_books"
    assert selected.structured["confidence"] > 0
    planned = client.call(tools, "plan_tools", request="Find books about ships and lend the first.")
    assert ids(planned) == ["library/find_books", "library/lend"]
    assert "books[].id of call 1" in planned.text or "result of call 1" in planned.text


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("execute_tool", {"tool": "library/len"}, "Did you mean 'library/lend'"),
        ("execute_tool", {"tool": "library/lend"}, "Wrong arguments for lend: "),
        ("execute_tool", {}, "There is no tool ''"),
        ("tool_explain", {"tool": "libary/lend"}, "Did you mean 'library/lend'"),
        ("tool_search", {}, "Wrong arguments for tool_search: "),
        ("list_tools", {"source": "libary"}, "Did you mean 'library'?"),
        ("list_tools", {"cursor": "12"}, "give the `next_cursor` of a page"),
        ("execute_tool", {"tool": "gone/x"}, "'gone/x' cannot be called now. "),
    ],
)
def test_a_mistake_is_a_result_that_names_the_nearest(
    folder: Path, connect: Connect, name: str, arguments: dict[str, Any], says: str
) -> None:
    write_settings(folder, mcpServers={"gone": {"command": "no-such-program"}})
    result = connect().call(GatewayTools(), name, **arguments)
    assert result.is_error
    assert says in result.text


def test_tools_are_listed_page_by_page_with_filters(folder: Path, connect: Connect) -> None:
    file = folder / "many.jsonl"
    many = many_tools.many_tools()
    many_tools.write(file, many)
    args = [catalog_server.__file__, str(file)]
    write_settings(folder, mcpServers={"many": {"command": warm_python(), "args": args}})
    client, tools = connect(), GatewayTools()
    client.bridge.connect(wait=True)
    asked: dict[str, Any] = {"source": "many", "text": "WAREHOUSE"}
    pages: list[ToolResult] = []
    while asked:
        pages.append(client.call(tools, "list_tools", **asked))
        # The filters are in the cursor: a model that leaves them out reads the same list.
        asked = {"cursor": x} if (x := pages[-1].structured.get("next_cursor")) else {}
    listed = [x for page in pages for x in ids(page)]
    expected = [x for x in many if "warehouse" in f"{x['name']} {x['description']}".lower()]
    assert len(pages) > 1
    assert listed == sorted(f"many/{x['name']}" for x in expected)
    assert {x.structured["total"] for x in pages} == {len(expected)}


def test_an_endpoint_knows_no_tools_but_its_own(folder: Path, connect: Connect) -> None:
    """A toolbelt or group is a virtual server."""
    write_settings(folder, groups={"letters": {"include": ["library/write_letter"]}})
    client = connect()

    async def choose(operations: Operations) -> Any:
        return operations.choice_of(["letters"])

    tools = GatewayTools(client.ask(choose))
    assert ids(client.call(tools, "list_tools")) == ["library/write_letter"]
    assert ids(client.call(tools, "tool_search", query="lend a book and write a letter")) == [
        "library/write_letter"
    ]
    refused = client.call(tools, "execute_tool", tool="library/lend", arguments={"book_id": "b7"})
    assert "There is no tool 'library/lend'" in refused.text


def test_a_hung_server_delays_a_listing_by_less_than_half_a_second(
    folder: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xai_mcp_agent.gateway.tools._START_SECONDS", 0.0)
    hung = entry(hang=True)
    write_settings(folder, mcpServers={"hung": hung})
    client, tools = connect(), GatewayTools()
    client.bridge.connect("library", wait=True)
    started = time.monotonic()
    listed = client.call(tools, "list_tools")
    assert time.monotonic() - started < 0.5
    assert len(ids(listed)) == 3
    assert listed.text.endswith("Without the tools of these, which cannot be used now: hung.")


@pytest.mark.parametrize(
    ("mode", "budget", "shown"),
    [
        ("all", 1, ["find_books", "lend", "write_letter"]),
        ("auto", 3800, ["find_books", "lend", "write_letter"]),
        ("auto", 100, ["lend", *META]),
        ("search", 3800, ["lend", *META]),
    ],
)
def test_what_does_not_fit_is_found_instead_of_listed(
    folder: Path, connect: Connect, mode: ToolsMode, budget: int, shown: list[str]
) -> None:
    search = {"alwaysShown": ["library/lend"], "tokenBudget": budget}
    write_settings(folder, toolSearch=search)

    async def show(operations: Operations) -> list[tuple[str, Tool]]:
        named = [(x.name, x) for x in await operations.list_tools("library")]
        return await GatewayTools().shown(mode, named, operations)

    assert [name for name, _ in connect().ask(show)] == shown
