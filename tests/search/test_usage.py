"""Learning from use: what a bridge remembers of its tools, and what happens when it cannot."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tests.search.test_tools import tool
from tests.support.databases import MEMORY, place_of
from xai_mcp_agent import ToolKey, settings_from
from xai_mcp_agent.history.learned_rows import LearnedFilter
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.search import usage as usage_module
from xai_mcp_agent.search.intents import forget_intents
from xai_mcp_agent.search.meta_tools import TOOL_SEARCH
from xai_mcp_agent.search.ranking import Ranking
from xai_mcp_agent.search.remembered import Remembered
from xai_mcp_agent.search.tools import ToolIndex
from xai_mcp_agent.search.usage import UsageMemory

pytestmark = pytest.mark.anyio

LEDGER, EVENTS = tool("query_ledger", "Reads bookings."), tool("list_events", "Lists meetings.")
_SECONDS = 30.0


class Bridge:
    """What of a bridge is needed here: its recorder, and what it learns."""

    def __init__(self, place: Place, **options: Any) -> None:
        self.told: list[str] = []
        self.recorder = HistoryRecorder(place, str, warn=lambda _: None)
        self.usage = UsageMemory(self.recorder, tell=self.told.append, **options)

    def learn(self, key: ToolKey, *texts: str, toolbelt: str = "default") -> None:
        self.usage.learn(toolbelt, key, texts)

    async def next_run(self, toolbelt: str = "default") -> Remembered:
        """What is remembered when the next run begins."""
        self.usage.follow(toolbelt)
        with anyio.fail_after(_SECONDS):
            await anyio.to_thread.run_sync(self.recorder.settled().result, _SECONDS)
            return await self.usage.remembered(toolbelt)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return place_of("", tmp_path)


@pytest.fixture
def bridge(place: Place) -> Iterator[Bridge]:
    bridge = Bridge(place)
    yield bridge
    bridge.recorder.close(_SECONDS)


async def test_what_a_tool_was_used_for_finds_it_in_the_next_run(bridge: Bridge) -> None:
    index = ToolIndex([LEDGER, EVENTS])
    bridge.learn(LEDGER.key, "How much did we spend in March?", "spending by month")
    found = Ranking().rank(index, "what did we spend", remembered=await bridge.next_run())
    assert [x.tool for x in found] == [LEDGER]
    assert found[0].reasons == ("used 2 times for similar requests",)


async def test_a_later_bridge_remembers_it(bridge: Bridge, place: Place) -> None:
    bridge.learn(LEDGER.key, "How much did we spend?")
    await bridge.next_run()
    later = Bridge(place)
    assert list((await later.usage.remembered("default"))[LEDGER.key]) == ["spend"]
    later.recorder.close(_SECONDS)


async def test_another_toolbelt_remembers_nothing_of_it(bridge: Bridge) -> None:
    bridge.learn(LEDGER.key, "How much did we spend?", toolbelt="office")
    assert set(await bridge.next_run("office")) == {LEDGER.key}
    assert not await bridge.next_run("hotel")
    assert not await bridge.next_run("")
    bridge.learn(EVENTS.key, "What is on today?", toolbelt="")
    assert set(await bridge.next_run("default")) == {EVENTS.key}


async def test_one_request_teaches_once_however_often_the_tool_is_called_for_it(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(50):
        bridge.learn(LEDGER.key, "sum up all bookings")
    assert uses(await bridge.next_run(), LEDGER.key, "sum up all bookings") == 1
    monkeypatch.setattr(usage_module, "_SAME_REQUEST_SECONDS", -1.0)
    bridge.learn(LEDGER.key, "sum up all bookings")
    assert uses(await bridge.next_run(), LEDGER.key, "sum up all bookings") == 2


@pytest.mark.parametrize("text", ["", "yes", "OK, go on please!", "  ", "???", "Ja, weiter"])
async def test_what_asks_for_nothing_teaches_nothing(bridge: Bridge, text: str) -> None:
    bridge.learn(LEDGER.key, text)
    assert not await bridge.next_run()


async def test_that_tools_were_searched_teaches_nothing_about_searching(bridge: Bridge) -> None:
    bridge.learn(TOOL_SEARCH.key, "find a tool for bookings")
    assert not await bridge.next_run()


async def test_it_counts_less_the_longer_ago_it_was(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    bridge.learn(LEDGER.key, "spending")
    bridge.learn(EVENTS.key, "spending")
    bridge.recorder.settled().result(_SECONDS)
    month = 30 * 24 * 3600 * 1_000_000
    execute(bridge, f"UPDATE xai_mcp_learned SET used = used - {month} WHERE tool = 'list_events'")
    remembered = await bridge.next_run()
    new, old = remembered[LEDGER.key]["spending"], remembered[EVENTS.key]["spending"]
    assert old == pytest.approx(new / 2, rel=0.05)


async def test_what_another_process_forgot_is_forgotten_at_the_next_run(
    bridge: Bridge, place: Place
) -> None:
    bridge.learn(LEDGER.key, "How much did we spend?")
    assert await bridge.next_run()
    other = Bridge(place)
    other.recorder.forget(lambda x: forget_intents(x, LearnedFilter())).result(_SECONDS)
    other.recorder.close(_SECONDS)
    assert not await bridge.next_run()


async def test_a_long_run_notices_after_a_while_that_something_was_forgotten(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    bridge.learn(LEDGER.key, "How much did we spend?")
    assert await bridge.next_run()
    execute(bridge, "DELETE FROM xai_mcp_learned")
    assert await bridge.usage.remembered("default")
    monkeypatch.setattr(usage_module, "_FRESH_SECONDS", 0.0)
    assert not await bridge.usage.remembered("default")


# Switched off


async def test_switched_off_it_neither_learns_nor_counts_what_was_learned(
    bridge: Bridge, place: Place
) -> None:
    bridge.learn(LEDGER.key, "How much did we spend?")
    await bridge.next_run()
    off = Bridge(place, learns=False)
    off.learn(LEDGER.key, "spending by month")
    assert not await off.next_run()
    assert len(rows(bridge)) == 1
    off.recorder.close(_SECONDS)


@pytest.mark.parametrize(
    ("written", "variable", "learns"),
    [
        ({}, "", True),
        ({"learn": False}, "", False),
        ({"learn": "no"}, "", False),
        ({}, "off", False),
        ({}, "OFF", False),
        ({"learn": False}, "on", True),
        ({}, "perhaps", False),
    ],
)
def test_the_settings_and_a_variable_switch_it_off(
    written: Mapping[str, Any], variable: str, learns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not understood counts as off: it is about what is remembered of people."""
    monkeypatch.setenv("XAI_MCP_LEARN", variable)
    settings = settings_from({"mcpServers": {}, "toolSearch": written})
    assert settings.search.learns is learns
    is_understood = variable != "perhaps" and written.get("learn") != "no"
    assert is_understood == (not any("learn" in x.lower() for x in settings.notes))


# A history that is away


async def test_without_a_history_nothing_is_remembered_and_that_is_told_once(
    tmp_path: Path,
) -> None:
    (tmp_path / "history.db").mkdir()
    bridge = Bridge(place_of(tmp_path / "history.db", tmp_path))
    for _ in range(3):
        bridge.learn(LEDGER.key, "How much did we spend?")
        bridge.usage.follow("default")
        with anyio.fail_after(_SECONDS):
            while bridge.usage._scope("default").reading is not None:  # pyright: ignore
                assert not await bridge.usage.remembered("default")
    (told,) = bridge.told
    assert "without what they were used for" in told
    bridge.recorder.close(0)


async def test_a_history_that_somebody_holds_delays_neither_learning_nor_a_search(
    bridge: Bridge, place: Place
) -> None:
    bridge.learn(LEDGER.key, "How much did we spend?")
    remembered = await bridge.next_run()
    assert place.file is not None
    holder = sqlite3.connect(place.file, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    bridge.learn(LEDGER.key, "spending by month")
    bridge.usage.follow("default")
    started = time.monotonic()
    for _ in range(100):  # the first of them waits for a moment, and the others do not
        assert await bridge.usage.remembered("default") is remembered
    assert time.monotonic() - started < 10.0  # it would be thirty seconds
    holder.execute("ROLLBACK")
    holder.close()
    await bridge.next_run()
    assert len(rows(bridge)) == 2


async def test_a_history_that_can_only_be_read_is_remembered(bridge: Bridge, place: Place) -> None:
    bridge.learn(LEDGER.key, "How much did we spend?")
    await bridge.next_run()
    assert place.file is not None
    execute(
        bridge, "CREATE TRIGGER no BEFORE INSERT ON xai_mcp_runs BEGIN SELECT RAISE(FAIL, 'x'); END"
    )
    later = Bridge(place)
    later.learn(EVENTS.key, "What is on today?")
    later.usage.follow("default")
    with anyio.fail_after(_SECONDS):
        while later.usage._scope("default").reading is not None:  # pyright: ignore
            await later.usage.remembered("default")
    assert set(await later.usage.remembered("default")) == {LEDGER.key}
    later.recorder.close(0)


async def test_thousands_of_texts_are_remembered_beside_the_loop(tmp_path: Path) -> None:
    bridge = Bridge(place_of(MEMORY, tmp_path))
    for number in range(2_000):
        key = ToolKey("mcp", "s", f"tool{number % 200}")
        bridge.learn(key, f"{'some words for it ' * 10}{chr(97 + number % 26)}x{number % 20}")
        await anyio.lowlevel.checkpoint()  # no run learns so much at once
    with anyio.fail_after(_SECONDS):
        await anyio.to_thread.run_sync(bridge.recorder.settled().result, _SECONDS)
        bridge.usage.follow("default")
        while bridge.usage._scope("default").reading is not None:  # pyright: ignore
            await bridge.usage.remembered("default")
    assert len(await bridge.usage.remembered("default")) == 200
    bridge.recorder.close(_SECONDS)


def uses(remembered: Remembered, key: ToolKey, text: str) -> int:
    return remembered.uses_like(key, text.split(), lambda _: 1.0)


def execute(bridge: Bridge, statement: str) -> list[Any]:
    assert bridge.recorder.place.file is not None
    connection = sqlite3.connect(bridge.recorder.place.file, isolation_level=None, timeout=_SECONDS)
    found = connection.execute(statement).fetchall()
    connection.close()
    return found


def rows(bridge: Bridge) -> list[Any]:
    return execute(bridge, "SELECT * FROM xai_mcp_learned")
