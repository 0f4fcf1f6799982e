"""The catalog: a projection of what sources report, and nothing else."""

from __future__ import annotations

import pytest

from xai_mcp_agent import Tool, ToolKey, UnknownTool
from xai_mcp_agent.catalog.catalog import Catalog
from xai_mcp_agent.core.events import Inventory, InventoryChanged, SourceConnected, SourceLost

pytestmark = pytest.mark.anyio


def tool(source: str, name: str, description: str = "") -> Tool:
    """A tool without parameters."""
    return Tool(ToolKey("mcp", source, name), description, {"type": "object"})


def lists(catalog: Catalog, source: str, *names: str, instructions: str = "") -> None:
    """Have a source list these tools."""
    tools = tuple(tool(source, name) for name in names)
    catalog.notice(InventoryChanged(source, Inventory(source, tools, instructions)))


async def test_what_a_source_lists_is_there_in_its_order():
    catalog = Catalog()
    catalog.notice(SourceConnected("a", "stdio", "2026-07-28"))
    assert catalog.tools("a") == ()
    lists(catalog, "a", "z", "y", instructions="Be kind.")
    assert [x.name for x in catalog.tools("a")] == ["z", "y"]
    assert catalog.instructions("a") == "Be kind."
    assert catalog.instructions("nobody") == ""
    assert catalog.get(ToolKey("mcp", "a", "y")) == tool("a", "y")
    assert catalog.get(ToolKey("mcp", "b", "y")) is None


async def test_a_new_listing_replaces_the_old_one():
    catalog = Catalog()
    lists(catalog, "a", "old", "kept")
    lists(catalog, "b", "old")
    lists(catalog, "a", "kept", "new")
    assert [x.name for x in catalog.tools("a")] == ["kept", "new"]
    assert catalog.get(ToolKey("mcp", "a", "old")) is None
    assert catalog.get(ToolKey("mcp", "b", "old")) is not None


async def test_tools_stay_known_when_a_connection_is_lost_and_go_when_it_is_closed():
    """A call can heal a lost connection; one that was closed is meant to be gone."""
    catalog = Catalog()
    lists(catalog, "a", "t")
    catalog.notice(SourceLost("a", "it exited with code 1"))
    assert len(catalog.tools("a")) == 1
    catalog.notice(SourceLost("a", "closed", on_purpose=True))
    assert catalog.tools("a") == ()
    assert catalog.get(ToolKey("mcp", "a", "t")) is None


async def test_a_missing_tool_is_answered_with_the_nearest_ones_or_all():
    catalog = Catalog()
    lists(catalog, "a", "search_books", "borrow_book")
    with pytest.raises(UnknownTool, match=r"a has no tool 'search_book'\. Did you mean"):
        catalog.require("a", "search_book")
    with pytest.raises(UnknownTool, match=r"It offers: search_books, borrow_book\."):
        catalog.require("a", "zzz")
    with pytest.raises(UnknownTool, match=r"It offers: no tools\."):
        catalog.require("b", "zzz")
    assert catalog.require("a", "borrow_book").name == "borrow_book"


async def test_the_first_source_that_offers_a_tool_is_found():
    catalog = Catalog()
    lists(catalog, "a", "one")
    lists(catalog, "b", "one", "two")
    assert catalog.find("one", ["b", "a"]) == ToolKey("mcp", "b", "one")
    assert catalog.find("two", ["a", "b"]) == ToolKey("mcp", "b", "two")
    assert catalog.find("two", ["a"]) is None
