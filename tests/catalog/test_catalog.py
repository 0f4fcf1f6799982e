"""The catalog: a projection of what sources report, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.recorded import IN_MEMORY, place_of_file, tool_of
from xai_mcp_agent import Tool, ToolKey, ToolRecord, UnknownTool
from xai_mcp_agent.catalog.catalog import Catalog, CatalogChanged
from xai_mcp_agent.core.events import (
    Inventory,
    InventoryChanged,
    SourceConnected,
    SourceEvent,
    SourceLost,
    SourceUnreachable,
)
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.recorder import HistoryRecorder

pytestmark = pytest.mark.anyio

SECONDS = 20.0


def lists(catalog: Catalog, source: str, *names: str, instructions: str = "") -> None:
    """Report that a source listed these tools."""
    tools = tuple(tool_of(source, name) for name in names)
    catalog.notice(InventoryChanged(source, Inventory(source, tools, instructions)))


def names(catalog: Catalog, source: str) -> list[str]:
    return [x.name for x in catalog.tools(source)]


async def test_a_listing_keeps_its_order_and_replaces_the_one_before():
    """Tools of a lost source stay, because a call can reconnect it; closing removes them."""
    catalog = Catalog()
    catalog.notice(SourceConnected("a", "stdio", "2026-07-28"))
    assert catalog.tools("a") == ()
    lists(catalog, "a", "z", "y", instructions="Be kind.")
    assert names(catalog, "a") == ["z", "y"]
    assert (catalog.instructions("a"), catalog.instructions("nobody")) == ("Be kind.", "")
    assert catalog.get(ToolKey("mcp", "a", "y")) == tool_of("a", "y")
    assert catalog.get(ToolKey("mcp", "b", "y")) is None
    lists(catalog, "b", "z")
    lists(catalog, "a", "y", "new")
    assert names(catalog, "a") == ["y", "new"]
    assert catalog.get(ToolKey("mcp", "a", "z")) is None
    assert catalog.get(ToolKey("mcp", "b", "z")) is not None
    catalog.notice(SourceLost("a", "it exited with code 1"))
    assert names(catalog, "a") == ["y", "new"]
    catalog.notice(SourceLost("a", "closed", on_purpose=True))
    assert names(catalog, "a") == []
    assert catalog.get(ToolKey("mcp", "a", "y")) is None


async def test_a_tool_is_found_by_name_and_an_unknown_name_raises_with_the_nearest():
    catalog = Catalog()
    lists(catalog, "a", "search_books", "borrow_book")
    lists(catalog, "b", "borrow_book", "two")
    for source, name, says in (
        ("a", "search_book", r"a has no tool 'search_book'\. Did you mean"),
        ("a", "zzz", r"It offers: search_books, borrow_book\."),
        ("c", "zzz", r"It offers: no tools\."),
    ):
        with pytest.raises(UnknownTool, match=says):
            catalog.require(source, name)
    assert catalog.require("a", "borrow_book").name == "borrow_book"


async def test_a_failing_subscriber_is_ignored_and_a_removed_one_is_not_called():
    catalog, sources = Catalog(), list[str]()

    def fail(_: CatalogChanged) -> None:
        raise ValueError

    catalog.subscribe(fail)
    leave = catalog.subscribe(lambda x: sources.extend(x.sources))
    lists(catalog, "a", "t")
    leave()
    lists(catalog, "b", "t")
    assert sources == ["a"]


# With a history: the catalog equals the fold of the log.


class Process:
    """The recorder and the catalog of one process."""

    def __init__(self, place: Place) -> None:
        self.recorder = HistoryRecorder(place, str)
        self.catalog = Catalog(self.recorder)
        self.changes: list[CatalogChanged] = []
        self.catalog.subscribe(self.changes.append)

    def notice(self, event: SourceEvent) -> None:
        """Report an event of a source, as the bridge does."""
        self.recorder.notice(event)
        self.catalog.notice(event)

    def connects(self, source: str, *tools: Tool) -> None:
        """Report that a source connected and listed these tools."""
        self.notice(SourceConnected(source, "stdio", "2025-11-25"))
        self.notice(InventoryChanged(source, Inventory(source, tools)))

    async def flush(self) -> None:
        """Wait until all reports are written and the catalog has the records."""
        await asyncio.wrap_future(self.recorder.flush())

    async def read(self, *sources: str) -> None:
        """Read the records of these sources, also those of other processes."""
        with anyio.fail_after(SECONDS):
            for source in sources:
                await self.catalog.read(source, SECONDS)

    def tools(self, source: str) -> set[str]:
        return {x.key.name for x in self.catalog.entries(source)}


@asynccontextmanager
async def process(place: Place = IN_MEMORY) -> AsyncGenerator[Process]:
    """A process that ends after the block."""
    one = Process(place)
    try:
        yield one
    finally:
        await anyio.to_thread.run_sync(one.recorder.close, SECONDS)


async def test_an_unchanged_listing_is_no_change_and_returns_the_same_tuple():
    async with process() as one:
        tools = (tool_of("a", "t"), tool_of("a", "u"))
        one.connects("a", *tools)
        await one.flush()
        before, first = one.catalog.version, one.catalog.tools("a")
        one.notice(InventoryChanged("a", Inventory("a", tuple(iter(tools)))))
        await one.read("a")
        assert one.catalog.version == before
        assert one.catalog.tools("a") is first
        one.notice(InventoryChanged("a", Inventory("a", tools[::-1])))
        assert one.catalog.version > before
        assert one.catalog.tools("a") == tools[::-1]


async def test_only_requested_entries_are_loaded(tmp_path: Path):
    """A history may have a hundred thousand tools."""
    place = place_of_file(tmp_path / "history.db")
    async with process(place) as before:
        for source in "ab":
            before.connects(source, tool_of(source, "t"), tool_of(source, "u"))
        await before.flush()
    async with process(place) as one:
        assert one.tools("a") == set()
        await one.read("a")
        assert (one.tools("a"), one.tools("b")) == ({"t", "u"}, set())
        one.connects("b", tool_of("b", "u"))
        await one.flush()
        assert one.tools("b") == {"t", "u"}


_STEPS = st.tuples(
    st.sampled_from(["a", "a_b"]),
    st.sampled_from(["lists", "lists", "is lost", "is closed", "fails", "is called"]),
    st.dictionaries(
        st.sampled_from(["c", "b_c", "d"]), st.sampled_from(["old", "new"]), max_size=3
    ),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(_STEPS, min_size=1, max_size=4), max_size=6))
def test_the_catalog_equals_the_fold_of_the_log_after_any_events(batches: list[list[Any]]):
    """The live view and the fold over the log are one projection."""
    anyio.run(live, batches)


async def live(batches: Sequence[Sequence[Any]]) -> None:
    """Compare the catalog with the log after each batch of steps."""
    async with process() as one:
        await one.read("a", "a_b")
        connected: set[str] = set()
        for batch in batches:
            for step in batch:
                take_step(one, connected, *step)
            await one.flush()
            log = await asyncio.wrap_future(one.recorder.ask(lambda x: x.records()))
            for source in ("a", "a_b"):
                entries = one.catalog.entries(source)
                records = {k.key: x for k, x in log.tools.items() if k.source == source}
                assert {x.key: timeless(x.record) for x in entries} == {
                    k: timeless(x) for k, x in records.items()
                }
                if source in connected:
                    available = {k for k, x in records.items() if x.is_available}
                    assert {x.key for x in entries if x.tool is not None} == available
        versions = [x.version for x in one.changes]
        assert versions == sorted(versions)


def timeless(record: ToolRecord | None) -> ToolRecord | None:
    """Return the record without `last_seen`: an unchanged listing changes only its source's."""
    return record and replace(record, last_seen=record.created)


def take_step(
    one: Process, connected: set[str], source: str, step: str, tools: dict[str, str]
) -> None:
    """Report one step of a source or a tool."""
    listed = tuple(tool_of(source, *x) for x in tools.items())
    match step:
        case "lists" if source in connected:
            one.notice(InventoryChanged(source, Inventory(source, listed)))
        case "lists":
            connected.add(source)
            one.connects(source, *listed)
        case "is lost" | "is closed":
            connected.discard(source)
            one.notice(SourceLost(source, "it ended.", step == "is closed"))
        case "fails":
            one.notice(SourceUnreachable(source, "out of memory"))
        case _:
            one.recorder.record_call(ToolKey("mcp", source, "c"), 0.25, "no" if tools else "")
