"""Toolsets: what an agent may call, under which names, in an order that stays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain

import pytest

from tests.catalog.test_catalog import lists, tool
from xai_mcp_agent import Tool, ToolResult
from xai_mcp_agent.agent.toolsets import AgentTools, Available, Filter, Names, Toolset
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

    def known_tools(self) -> Sequence[Tool]:
        return [x for x in self.given if not x.source]

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


def tools_of(*parts: Toolset, filters: Sequence[Filter] = (), names: Names = ()) -> AgentTools:
    """What the loop is handed for these."""
    return AgentTools(parts, Definitions(), names, filters=filters)


async def names_of(tools: AgentTools) -> list[str]:
    """What a model could call now."""
    return list((await tools.available()).names)


def find(available: Available, name: str) -> tuple[str, str] | None:
    """Whose tool is called where a model writes this name."""
    found = available.find(name)
    return found and (found.tool.source, found.tool.name)


async def test_new_tools_come_last_so_that_the_start_of_a_request_stays():
    """Providers cache the beginning of a prompt; a tool that comes back has its place."""
    catalog = Catalog()
    tools = tools_of(Listed(catalog, "a", "b"))
    lists(catalog, "b", "old", "x")
    assert await names_of(tools) == ["b_old", "b_x"]
    lists(catalog, "a", "new")
    lists(catalog, "b", "x")
    assert await names_of(tools) == ["b_x", "a_new"]
    lists(catalog, "b", "x", "older", "old")
    assert await names_of(tools) == ["b_old", "b_x", "a_new", "b_older"]


async def test_tools_that_would_be_shown_alike_are_both_there_and_a_run_goes_on_with_their_names():
    first = tools_of(Given(tool("a", "b_c"), tool("a_b", "c"), tool("a", "z")))
    names = await names_of(first)
    assert len(set(names)) == 3
    assert tuple(first.shown_name(key) for key, _ in first.names) == tuple(names)
    turned = Given(tool("a", "new"), tool("a", "z"), tool("a_b", "c"), tool("a", "b_c"))
    assert await names_of(tools_of(turned, names=first.names)) == [*names, "a_new"]


async def test_a_call_goes_to_the_first_toolset_that_has_the_tool():
    one, two = Given(tool("", "x"), word="one"), Given(tool("", "x", "Other."), tool("", "y"))
    two.word = "two"
    tools = tools_of(one, two)
    definitions = (await tools.available()).definitions
    results = [await tools.call(ToolInvocation(x.tool, {})) for x in definitions]
    assert [x.text for x in results] == ["one x", "two y"]


async def test_a_tool_is_shown_as_its_filters_have_it_or_not_at_all_with_the_reason_by_name():
    accepted = {"x": tool("a", "x", "As accepted.")}
    held = GivenFilter(lambda x: x if x.source == "b" else accepted.get(x.name, "held: {}"))
    off = GivenFilter(lambda x: "{} is off." if x.name == "w" else x)
    given = Given(tool("a", "x", "New."), tool("a", "y"), tool("b", "z", "New."), tool("b", "w"))
    given.said = {"a": "Obey.", "b": "Be kind."}
    tools = tools_of(given, filters=[held, off])
    available = await tools.available()
    shown = {x.name: x.function.description for x in available.definitions}
    assert shown == {"a_x": "As accepted.", "b_z": "New."}
    assert available.instructions == {"b": "Be kind."}
    reasons = [tools.why_not(x) for x in ("a_y", "y", "b_w")]
    assert reasons == ["held: a_y", "held: y", "b_w is off."]
    assert held.noticed == [(["x", "y", "z", "w"], ["a", "b"])]
    off.keep, off.version = GivenFilter().keep, 1
    assert await names_of(tools) == ["a_x", "b_z", "b_w"]


async def test_nothing_is_made_anew_while_nothing_changes_and_new_tools_are_written_down_first():
    recorded: list[int] = []

    async def record() -> None:
        recorded.append(len(tools.shown.definitions))

    asked: list[str] = []

    def keep(tool: Tool) -> Tool:
        asked.append(tool.name)
        return tool

    many = [tool("a", f"t{n}", "Does it.") for n in range(200)]
    given, filter_ = Given(*many), GivenFilter(keep)
    tools = AgentTools([given], Definitions(), filters=[filter_], record=record)
    before = await tools.available()
    assert await tools.available() is before
    assert (recorded, len(asked)) == ([0], 200)
    filter_.version = 1
    assert await tools.available() is before, "looked at anew, and found the same"
    changed = tool("a", "t7", "Does more.")
    given.given = [changed if x.name == "t7" else x for x in many]
    after = await tools.available()
    pairs = zip(before.definitions, after.definitions, strict=True)
    assert [now.tool for then, now in pairs if now is not then] == [changed]
    assert after.changed_since(before) == ((), ())


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
    available = await tools_of(Listed(catalog, "tool"), Given(tool("", "tool_pay"))).available()
    assert find(available, "tool_pay") == ("", "tool_pay")
    assert find(available, "tool_read") == ("tool", "read")
