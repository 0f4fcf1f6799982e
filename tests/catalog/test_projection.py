"""The catalog is what the log comes to, at once: what exists, and how it did."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.histories import place_of
from xai_mcp_agent import Tool, ToolKey, ToolRecord, settings_from
from xai_mcp_agent.catalog.catalog import Catalog, CatalogChanged
from xai_mcp_agent.catalog.entry import CatalogEntry
from xai_mcp_agent.core.events import (
    Inventory,
    InventoryChanged,
    SourceConnected,
    SourceEvent,
    SourceLost,
    SourceUnreachable,
)
from xai_mcp_agent.history.place import Place, find_place
from xai_mcp_agent.history.recording.recorder import HistoryRecorder

pytestmark = pytest.mark.anyio

SECONDS = 20.0
MEMORY = find_place(settings_from({}), "memory", {})
Offered = dict[str, str]
"""Descriptions by the names of tools."""


def key(name: str, source: str = "a") -> ToolKey:
    """That of a tool of a server."""
    return ToolKey("mcp", source, name)


def tool(name: str, description: str = "", source: str = "a") -> Tool:
    """A tool without parameters."""
    return Tool(key(name, source), description, {"type": "object"})


class Process:
    """What one process knows: sources report, tools are called."""

    def __init__(self, place: Place) -> None:
        self.memory = HistoryRecorder(place, lambda text: text)
        self.catalog = Catalog(self.memory)
        self.told: list[CatalogChanged] = []
        self.catalog.subscribe(self.told.append)

    def notice(self, event: SourceEvent) -> None:
        """As the bridge has its sources report."""
        self.memory.notice(event)
        self.catalog.notice(event)

    def connects(self, tools: Offered, source: str = "a") -> None:
        """A source connects, and lists these."""
        self.notice(SourceConnected(source, "stdio", "2025-11-25"))
        self.lists(tools, source)

    def lists(self, tools: Offered, source: str = "a") -> None:
        """It lists these."""
        listed = tuple(tool(*x, source) for x in tools.items())
        self.notice(InventoryChanged(source, Inventory(source, listed)))

    def loses(self, source: str = "a", *, on_purpose: bool = False) -> None:
        """It is not connected any more."""
        self.notice(SourceLost(source, "it ended.", on_purpose))

    async def written(self) -> None:
        """Wait until what happened is written down, and known."""
        await asyncio.wrap_future(self.memory.settled())

    async def read(self, *sources: str) -> None:
        """Read what others have written, too."""
        with anyio.fail_after(SECONDS):
            for source in sources:
                await self.catalog.read(source, SECONDS)

    def entry(self, name: str) -> CatalogEntry:
        """What is known of a tool of the first source."""
        entry = self.catalog.entry(key(name))
        assert entry is not None
        return entry


@asynccontextmanager
async def process(place: Place = MEMORY) -> AsyncGenerator[Process]:
    """One that ends at the end."""
    one = Process(place)
    try:
        yield one
    finally:
        await anyio.to_thread.run_sync(one.memory.close, SECONDS)


async def test_a_listing_as_before_is_no_change_and_gives_the_same_tuple():
    async with process() as one:
        listed = (tool("t"), tool("u"))
        one.notice(SourceConnected("a", "stdio", "2025-11-25"))
        one.notice(InventoryChanged("a", Inventory("a", listed)))
        await one.written()
        before, shown = one.catalog.version, one.catalog.tools("a")
        one.notice(InventoryChanged("a", Inventory("a", tuple(iter(listed)))))
        await one.read("a")
        assert one.catalog.version == before
        assert one.catalog.tools("a") is shown
        one.notice(InventoryChanged("a", Inventory("a", listed[::-1])))
        assert one.catalog.version > before
        assert one.catalog.tools("a") == listed[::-1]


async def test_a_subscriber_that_raises_hurts_nobody_and_one_that_left_is_reported_nothing():
    catalog, told = Catalog(), list[str]()

    def fail(_: CatalogChanged) -> None:
        raise ValueError

    catalog.subscribe(fail)
    leave = catalog.subscribe(lambda x: told.extend(x.sources))
    for source in ("a", "b"):
        catalog.notice(InventoryChanged(source, Inventory(source, (tool("t", "", source),))))
        leave() if source == "a" else None
    assert told == ["a"]


async def test_what_nobody_asked_for_is_not_loaded(tmp_path: Path):
    """A history may know a hundred thousand tools; also its dead runs are none of our business."""
    place = place_of(tmp_path / "history.db")
    async with process(place) as before:
        for source in "ab":
            before.connects({"t": "", "u": ""}, source)
        await before.written()
    async with process(place) as one:
        assert one.catalog.entries("a") == ()
        await one.read("a")
        assert {x.key for x in one.catalog.entries("a")} == {key("t"), key("u")}
        assert one.catalog.entries("b") == ()
        one.connects({"u": ""}, "b")
        await one.written()
        assert {x.key.name for x in one.catalog.entries("b")} == {"t", "u"}


steps = st.tuples(
    st.sampled_from(["a", "a_b"]),
    st.sampled_from(["lists", "lists", "is lost", "is closed", "fails", "is called"]),
    st.dictionaries(
        st.sampled_from(["c", "b_c", "d"]), st.sampled_from(["old", "new"]), max_size=3
    ),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(steps, min_size=1, max_size=4), max_size=6))
def test_whatever_happens_the_catalog_is_what_the_log_comes_to(
    batches: list[list[tuple[str, str, Offered]]],
):
    """Issue: the live view and the fold over the log are one projection."""
    anyio.run(live, batches)


async def live(batches: Sequence[Sequence[tuple[str, str, Offered]]]) -> None:
    """A life, in which all is as the log has it after each of its parts."""
    async with process() as one:
        await one.read("a", "a_b")
        connected: set[str] = set()
        for batch in batches:
            for source, what, tools in batch:
                happens(one, connected, source, what, tools)
            await one.written()
            log = await asyncio.wrap_future(one.memory.ask(lambda x: x.records()))
            for source in ("a", "a_b"):
                entries = one.catalog.entries(source)
                told = {x.subject.key: x for x in log.tools.values() if x.subject.source == source}
                assert {x.key: timeless(x.record) for x in entries} == {
                    k: timeless(x) for k, x in told.items()
                }
                live = {x.key for x in entries if x.tool is not None}
                if source in connected:
                    assert live == {k for k, x in told.items() if x.is_available}
        versions = [x.version for x in one.told]
        assert versions == sorted(versions)


def timeless(record: ToolRecord | None) -> ToolRecord | None:
    """Without when it was seen last: that it was listed as before is told of its source alone."""
    return record and replace(record, last_seen=record.created)


def happens(one: Process, connected: set[str], source: str, what: str, tools: Offered) -> None:
    """One thing happens to a source or a tool."""
    match what:
        case "lists" if source in connected:
            one.lists(tools, source)
        case "lists":
            connected.add(source)
            one.connects(tools, source)
        case "is lost" | "is closed":
            connected.discard(source)
            one.loses(source, on_purpose=what == "is closed")
        case "fails":
            one.notice(SourceUnreachable(source, "out of memory"))
        case _:
            one.memory.called(key("c", source), 0.25, "no" if tools else "")
