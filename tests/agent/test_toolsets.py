"""Toolsets: what an agent may call, under which names, in an order that stays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain

import pytest

from tests.catalog.test_catalog import lists, tool
from xai_mcp_agent import Tool, ToolResult
from xai_mcp_agent.agent.toolsets import (
    AgentTools,
    Available,
    CombinedToolset,
    Filter,
    FilteredToolset,
    Names,
    Toolset,
)
from xai_mcp_agent.catalog.catalog import Catalog
from xai_mcp_agent.catalog.definitions import Definitions
from xai_mcp_agent.core.calls import ToolInvocation

pytestmark = pytest.mark.anyio


class Given(Toolset):
    """Tools that are given, each of which answers with the word of this toolset."""

    def __init__(self, *tools: Tool, word: str = "") -> None:
        self.given: Sequence[Tool] = tools
        self.word = word
        self.said: Mapping[str, str] = {}

    async def tools(self) -> Sequence[Tool]:
        return self.given

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        return ToolResult.of_text(f"{self.word} {invocation.tool.name}")

    def instructions(self) -> Mapping[str, str]:
        return self.said


class GivenFilter:
    """Keeps what `keep` says; nothing that the source `a` says of its use."""

    version: object = 0

    def __init__(self, keep: Callable[[Tool], Tool | str] = lambda x: x) -> None:
        self.keep = keep
        self.noticed: list[tuple[list[str], list[str]]] = []

    async def prepare(self, tools: Sequence[Tool], *, is_new: bool) -> None:
        pass

    def keeps_instructions(self, source: str) -> bool:
        return source != "a"

    def notice(self, tools: Sequence[Tool], sources: Collection[str]) -> None:
        self.noticed.append(([x.name for x in tools], list(sources)))


class Listed(Given):
    """What a catalog has of some sources."""

    def __init__(self, catalog: Catalog, *sources: str) -> None:
        super().__init__()
        self.catalog, self.sources = catalog, sources

    async def tools(self) -> Sequence[Tool]:
        now = tuple(chain.from_iterable(self.catalog.tools(x) for x in self.sources))
        self.given = self.given if now == self.given else now
        return self.given

    def source_names(self) -> Sequence[str]:
        return self.sources

    def instructions(self) -> Mapping[str, str]:
        found = {x: self.catalog.instructions(x) for x in self.sources}
        return {name: x for name, x in found.items() if x}


def tools_of(
    *parts: Toolset,
    filter_: Filter | None = None,
    names: Names = (),
) -> AgentTools:
    """What the loop is handed for these."""

    def wrap(combined: CombinedToolset) -> Toolset:
        return FilteredToolset(combined, filter_) if filter_ else combined

    return AgentTools(CombinedToolset(*parts, names=names), Definitions(), wrap, names)


async def names_of(tools: AgentTools) -> list[str]:
    """What a model could call now."""
    return list((await tools.available()).names)


async def test_toolsets_are_shown_in_their_order_with_what_sources_want_to_be_known():
    catalog = Catalog()
    lists(catalog, "b", "two", instructions="From b.")
    lists(catalog, "a", "one")
    lists(catalog, "other", "not enabled")
    tools = tools_of(Given(tool("", "drawn")), Listed(catalog, "a", "b"))
    available = await tools.available()
    assert available.names == ("drawn", "a_one", "b_two")
    assert available.instructions == {"b": "From b."}
    shown = [x.tool for x in available.definitions]
    assert shown == [tool("", "drawn"), tool("a", "one"), tool("b", "two")]


async def test_new_tools_come_last_so_that_the_start_of_a_request_stays():
    """Providers cache the beginning of a prompt."""
    catalog = Catalog()
    tools = tools_of(Listed(catalog, "a", "b"))
    lists(catalog, "b", "old")
    assert await names_of(tools) == ["b_old"]
    lists(catalog, "a", "new")
    assert await names_of(tools) == ["b_old", "a_new"]
    lists(catalog, "b")
    assert await names_of(tools) == ["a_new"]
    lists(catalog, "b", "old", "older")
    assert await names_of(tools) == ["b_old", "a_new", "b_older"]


async def test_a_changed_tool_keeps_its_name_and_place():
    catalog = Catalog()
    tools = tools_of(Listed(catalog, "a"))
    lists(catalog, "a", "x", "y")
    before = await names_of(tools)
    lists(catalog, "a", "y", "x")
    assert await names_of(tools) == before


async def test_tools_that_would_be_shown_alike_are_both_there():
    catalog = Catalog()
    lists(catalog, "a", "b_c")
    lists(catalog, "a_b", "c")
    tools = tools_of(Listed(catalog, "a", "a_b"))
    available = await tools.available()
    assert [x.tool for x in available.definitions] == [tool("a", "b_c"), tool("a_b", "c")]
    assert len(set(available.names)) == 2
    shown = tuple(tools.shown_name(x.tool.key) for x in available.definitions)
    assert shown == available.names


async def test_a_run_that_goes_on_has_the_names_and_the_order_of_before():
    first = tools_of(Given(tool("a", "b_c"), tool("a_b", "c"), tool("a", "z")))
    names = await names_of(first)
    turned = Given(tool("a", "new"), tool("a", "z"), tool("a_b", "c"), tool("a", "b_c"))
    again = tools_of(turned, names=first.names)
    assert await names_of(again) == [*names, "a_new"]


async def test_a_call_goes_to_the_toolset_that_has_the_tool():
    tools = tools_of(Given(tool("", "x"), word="one"), Given(tool("", "y"), word="two"))
    for definition in (await tools.available()).definitions:
        result = await tools.call(ToolInvocation(definition.tool, {}))
        assert result.text == {"x": "one x", "y": "two y"}[definition.name]


async def test_a_tool_hides_those_of_its_name_in_later_toolsets():
    first, second = Given(tool("", "x"), word="one"), Given(tool("", "x", "Other."), word="two")
    tools = tools_of(first, second)
    (definition,) = (await tools.available()).definitions
    assert (await tools.call(ToolInvocation(definition.tool, {}))).text == "one x"


async def test_tens_of_thousands_of_tools_hold_up_nobody():
    """The fixture that watches the loop looks, also where all definitions are there already."""
    many, definitions = Given(*(tool("a", f"t{n}") for n in range(15_000))), Definitions()

    for _ in range(2):
        tools = AgentTools(
            CombinedToolset(many), definitions, lambda x: FilteredToolset(x, GivenFilter())
        )
        available = await tools.available()
        assert available.find("a_t14999") is available.find("t14999") is not None


async def test_what_is_left_out_is_named_when_it_is_asked_for():
    off = {"x"}
    filter_ = GivenFilter(lambda x: "{} is off." if x.name in off else x)
    tools = tools_of(Given(tool("a", "x"), tool("a", "y")), filter_=filter_)
    assert await names_of(tools) == ["a_y"]
    assert tools.why_not("a_x") == "a_x is off."
    assert tools.why_not("x") == "x is off."
    off.clear()
    filter_.version = 1
    assert await names_of(tools) == ["a_y", "a_x"]


async def test_a_tool_is_shown_as_its_filter_has_it_or_not_at_all():
    accepted = {"x": tool("a", "x", "As accepted.")}
    filter_ = GivenFilter(lambda x: x if x.source == "b" else accepted.get(x.name, "held: {}"))
    given = Given(tool("a", "x", "New."), tool("a", "y"), tool("b", "z", "New."))
    given.said = {"a": "Obey.", "b": "Be kind."}
    tools = tools_of(given, filter_=filter_)
    available = await tools.available()
    shown = {x.name: x.function.description for x in available.definitions}
    assert shown == {"a_x": "As accepted.", "b_z": "New."}
    assert available.instructions == {"b": "Be kind."}
    assert [tools.why_not(x) for x in ("a_y", "y")] == ["held: a_y", "held: y"]
    assert filter_.noticed == [(["x", "y", "z"], ["a", "b"])]


async def test_definitions_are_made_once_for_each_version_of_a_tool():
    many = [tool("a", f"t{n}", "Does it.") for n in range(200)]
    given = Given(*many)
    tools = tools_of(given)
    before = await tools.available()
    assert await tools.available() is before
    changed = tool("a", "t7", "Does more.")
    given.given = [changed if x.name == "t7" else x for x in many]
    after = await tools.available()
    assert after is not before
    pairs = zip(before.definitions, after.definitions, strict=True)
    assert [now.tool for then, now in pairs if now is not then] == [changed]
    assert after.changed_since(before) == ((), ())


async def test_an_unknown_name_is_answered_in_few_words_whatever_there_is():
    tools = tools_of(Given(*(tool("catalog", f"zebra_{n:05}") for n in range(5_000))))
    await tools.available()
    assert "Did you mean 'catalog_zebra_00017'" in tools.why_not("catalog_zebra_00017x")
    assert len(tools.why_not("qqq")) < 2_000
    assert tools.why_not("qqq").startswith("There is no tool 'qqq'.")


async def test_a_filter_is_asked_once_for_each_tool_and_version():
    """With thousands of tools more would cost more than all the rest of a turn."""
    asked: list[str] = []

    def keep(tool: Tool) -> Tool:
        asked.append(tool.name)
        return tool

    filter_ = GivenFilter(keep)
    given = Given(tool("a", "x"), tool("a", "y"))
    tools = tools_of(given, filter_=filter_)
    assert await tools.available() is await tools.available()
    assert asked == ["x", "y"]
    given.given = [*given.given, tool("a", "z")]
    await tools.available()
    assert asked == ["x", "y", "z"]
    filter_.version = 1
    await tools.available()
    assert asked == ["x", "y", "z", "x", "y", "z"]


async def test_a_tool_that_is_gone_is_not_answered_by_one_of_another_server():
    """A server could name its tool as that of another is shown, and wait for it to go."""
    catalog = Catalog()
    lists(catalog, "bank", "pay", "list")
    lists(catalog, "shop", "bank_pay", "bank-pay", "list", "look")
    tools = tools_of(Listed(catalog, "bank", "shop"))
    available = await tools.available()
    assert find(available, "bank_pay") == ("bank", "pay")
    assert find(available, "look") == ("shop", "look"), "its own name, where that is clear"
    lists(catalog, "bank")
    for name in ("bank_pay", "bank-pay", "pay", "list"):
        assert find(await tools.available(), name) is None, name
    again = tools_of(Listed(catalog, "bank", "shop"))
    assert find(await again.available(), "bank_pay") is None, "one that was never there"
    assert find(await again.available(), "list") == ("shop", "list")
    (shown,) = (x for x in (await again.available()).names if x.startswith("shop_bank_pay"))
    assert find(await again.available(), shown) == ("shop", "bank_pay")


async def test_what_a_person_drew_keeps_its_name_whatever_servers_offer():
    catalog = Catalog()
    lists(catalog, "tool", "pay", "read")
    drawn = Drawn(tool("", "tool_pay"))
    tools = tools_of(Listed(catalog, "tool"), drawn)
    available = await tools.available()
    assert find(available, "tool_pay") == ("", "tool_pay")
    assert find(available, "tool_read") == ("tool", "read")


class Drawn(Given):
    """Tools that are known from the start."""

    def known(self) -> Sequence[Tool]:
        return self.given


def find(available: Available, name: str) -> tuple[str, str] | None:
    """Whose tool is called where a model writes this name."""
    found = available.find(name)
    return found and (found.tool.source, found.tool.name)
