"""The search of a bridge: in a thread of its own, for several agents at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import anyio
import pytest

from tests.support.processes import wait_until
from xai_mcp_agent import Tool, ToolKey
from xai_mcp_agent.catalog.catalog import Catalog
from xai_mcp_agent.search.live import ToolSearch

pytestmark = pytest.mark.anyio


def canvas_tools(name: str, description: str) -> dict[ToolKey, Tool]:
    key = ToolKey("tools", "", name)
    return {key: Tool(key, description, {})}


@pytest.fixture
def search() -> Iterator[ToolSearch]:
    search = ToolSearch(Catalog())
    yield search
    search.close()


async def test_agents_whose_tools_differ_only_in_descriptions_find_their_own(search: ToolSearch):
    """Drawn tools of the same name, or a tool as it was accepted and as it is listed now."""
    results: dict[str, list[str]] = {}

    async def find(query: str, tools: Mapping[ToolKey, Tool]) -> None:
        ranked = await search.search(query, tools, 5)
        results[query] = [x.tool.description for x in ranked]

    async with anyio.create_task_group() as tasks:
        for thing in ("hammer", "song", "letter", "parcel"):
            tasks.start_soon(find, thing, canvas_tools("x", f"Brings a {thing}."))
    assert results == {x: [f"Brings a {x}."] for x in ("hammer", "song", "letter", "parcel")}


async def test_closing_ends_the_thread_even_while_it_reads_thousands_of_tools():
    """Python waits at its exit for the threads of pools."""
    search = ToolSearch(Catalog())
    has_begun = threading.Event()

    class Endless(dict[ToolKey, Tool]):
        def values(self) -> Any:
            for number in range(100_000):
                has_begun.set()
                yield from canvas_tools(f"t{number}", f"Does thing {number}.").values()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(search.search, "x", Endless(), 5)
        await anyio.to_thread.run_sync(has_begun.wait, 5)
        search.close()
        tasks.cancel_scope.cancel()

    def has_ended() -> bool:
        return not any(x.name.startswith("xai-mcp-search") for x in threading.enumerate())

    await anyio.to_thread.run_sync(wait_until, has_ended, "its thread has ended", 1.0)
