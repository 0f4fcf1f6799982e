"""Toolsets: what an agent may call, under which names, in an order that stays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pytest

from tests.catalog.test_catalog import lists
from tests.support.recorded import tool_of
from xai_mcp_agent import Tool, ToolResult
from xai_mcp_agent.agent.toolsets import AgentTools, Available, Names, Toolset
from xai_mcp_agent.catalog.catalog import Catalog
from xai_mcp_agent.catalog.definitions import Definitions
from xai_mcp_agent.core.calls import ToolInvocation

pytestmark = pytest.mark.anyio


class Fixed(Toolset):
    """Some tools, each of which answers with the word of this toolset."""

    def __init__(self, *tools: Tool, word: str = "") -> None:
        self.fixed: Sequence[Tool] = tools
        self.word = word

    async def tools(self) -> Sequence[Tool]:
        return self.fixed

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        return ToolResult.of_text(f"{self.word} {invocation.tool.name}")

    def initial_tools(self) -> Sequence[Tool]:
        return [x for x in self.fixed if not x.source]


class CatalogTools(Fixed):
    """The tools of some sources in a catalog."""

    def __init__(self, catalog: Catalog, *sources: str) -> None:
        super().__init__()
        self.catalog, self.sources = catalog, sources

    async def tools(self) -> Sequence[Tool]:
        now = tuple(chain.from_iterable(self.catalog.tools(x) for x in self.sources))
        self.fixed = self.fixed if now == self.fixed else now
        return self.fixed

    def source_names(self) -> Sequence[str]:
        return self.sources


def tools_of(*parts: Toolset, names: Names = ()) -> AgentTools:
    """Return these toolsets as the loop uses them."""
    return AgentTools(parts, Definitions(), names)


async def names_of(tools: AgentTools) -> list[str]:
    """Return the names of the tools that a model can call now."""
    return list((await tools.available()).names)


def find(available: Available, name: str) -> tuple[str, str] | None:
    """Return source and name of the tool that a model calls by this name."""
    definition = available.find(name)
    return definition and (definition.tool.source, definition.tool.name)


async def test_new_tools_come_last_so_that_the_start_of_a_request_stays():
    """Providers cache the beginning of a prompt; a tool that comes back has its place."""
    catalog = Catalog()
    tools = tools_of(CatalogTools(catalog, "a", "b"))
    lists(catalog, "b", "old", "x")
    assert await names_of(tools) == ["b_old", "b_x"]
    lists(catalog, "a", "new")
    lists(catalog, "b", "x")
    assert await names_of(tools) == ["b_x", "a_new"]
    lists(catalog, "b", "x", "older", "old")
    assert await names_of(tools) == ["b_old", "b_x", "a_new", "b_older"]


async def test_tools_with_similar_names_get_distinct_names_that_a_resumed_run_keeps():
    first = tools_of(Fixed(tool_of("a", "b_c"), tool_of("a_b", "c"), tool_of("a", "z")))
    names = await names_of(first)
    assert len(set(names)) == 3
    assert tuple(first.shown_name(key) for key, _ in first.names) == tuple(names)
    turned = Fixed(tool_of("a", "new"), tool_of("a", "z"), tool_of("a_b", "c"), tool_of("a", "b_c"))
    assert await names_of(tools_of(turned, names=first.names)) == [*names, "a_new"]


async def test_a_call_goes_to_the_first_toolset_that_has_the_tool():
    one = Fixed(tool_of("", "x"), word="one")
    tools = tools_of(one, Fixed(tool_of("", "x", "Other."), tool_of("", "y"), word="two"))
    available = await tools.available()
    assert await tools.available() is available, "nothing is made anew while nothing changes"
    definitions = available.definitions
    results = [await tools.call(ToolInvocation(x.tool, {})) for x in definitions]
    assert [x.text for x in results] == ["one x", "two y"]


async def test_a_call_of_a_removed_tool_does_not_reach_another_server():
    """A server could give its tool the shown name of another, and wait for its removal."""
    catalog = Catalog()
    lists(catalog, "bank", "pay", "list")
    lists(catalog, "shop", "bank_pay", "bank-pay", "list", "look")
    tools = tools_of(CatalogTools(catalog, "bank", "shop"))
    available = await tools.available()
    assert find(available, "bank_pay") == ("bank", "pay")
    assert find(available, "look") == ("shop", "look"), "its own name, where that is clear"
    lists(catalog, "bank")
    for name in ("bank_pay", "bank-pay", "pay", "list"):
        assert find(await tools.available(), name) is None, name
    again = tools_of(CatalogTools(catalog, "bank", "shop"))
    assert find(await again.available(), "bank_pay") is None, "one that was never there"
    assert find(await again.available(), "list") == ("shop", "list")
    (name,) = (x for x in (await again.available()).names if x.startswith("shop_bank_pay"))
    assert find(await again.available(), name) == ("shop", "bank_pay")


async def test_a_drawn_tool_keeps_its_name_even_if_a_server_offers_the_same():
    catalog = Catalog()
    lists(catalog, "tool", "pay", "read")
    available = await tools_of(
        CatalogTools(catalog, "tool"), Fixed(tool_of("", "tool_pay"))
    ).available()
    assert find(available, "tool_pay") == ("", "tool_pay")
    assert find(available, "tool_read") == ("tool", "read")
