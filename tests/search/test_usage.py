"""Learning from use: requests that a bridge remembers, and a history that cannot be used."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from tests.search.test_tools import tool
from tests.support.databases import place_of
from xai_mcp_agent import ToolKey, settings_from
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.search import usage as usage_module
from xai_mcp_agent.search.meta_tools import TOOL_SEARCH
from xai_mcp_agent.search.ranking import Ranking
from xai_mcp_agent.search.tools import ToolIndex
from xai_mcp_agent.search.usage import Remembered, UsageMemory

pytestmark = pytest.mark.anyio

LEDGER, EVENTS = tool("query_ledger", "Reads bookings."), tool("list_events", "Lists meetings.")
_SECONDS = 30.0


class Bridge:
    """The parts of a bridge that are needed here: its recorder, and its usage memory."""

    def __init__(self, place: Place, *, learns: bool = True) -> None:
        self.recorder = HistoryRecorder(place, str, warn=lambda _: None)
        self.usage = UsageMemory(self.recorder, learns=learns)

    def learn(self, key: ToolKey, *texts: str, toolbelt: str = "default") -> None:
        self.usage.learn(toolbelt, key, texts)

    async def next_run(self, toolbelt: str = "default") -> Remembered:
        """Return the learned requests at the start of the next run."""
        self.usage.follow(toolbelt)
        with anyio.fail_after(_SECONDS):
            await anyio.to_thread.run_sync(self.recorder.flush().result, _SECONDS)
            return await self.usage.remembered(toolbelt)

    def execute(self, statement: str) -> list[Any]:
        assert self.recorder.place.file is not None
        file = self.recorder.place.file
        with closing(sqlite3.connect(file, isolation_level=None, timeout=_SECONDS)) as connection:
            return connection.execute(statement).fetchall()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return place_of("", tmp_path)


@pytest.fixture
def bridge(place: Place) -> Iterator[Bridge]:
    bridge = Bridge(place)
    yield bridge
    bridge.recorder.close(_SECONDS)


async def test_the_next_run_finds_a_tool_by_the_requests_it_was_used_for(
    bridge: Bridge, place: Place
) -> None:
    index = ToolIndex([LEDGER, EVENTS])
    bridge.learn(LEDGER.key, "How much did we spend in March?", "spending by month")
    bridge.learn(tool("gone").key, "what did we spend")
    later = Bridge(place)
    for remembered in (await bridge.next_run(), await later.next_run()):
        (best,) = Ranking().rank(index, "what did we spend", remembered=remembered)
        assert (best.tool, best.reasons) == (LEDGER, ("used 2 times for similar requests",))
        assert index.search("what did we spend") == [], "the index itself learns nothing"
    later.recorder.close(_SECONDS)


async def test_each_toolbelt_has_its_own_requests(bridge: Bridge) -> None:
    bridge.learn(LEDGER.key, "How much did we spend?", toolbelt="office")
    assert set(await bridge.next_run("office")) == {LEDGER.key}
    assert not await bridge.next_run("hotel")
    bridge.learn(EVENTS.key, "What is on today?", toolbelt="")
    assert set(await bridge.next_run("default")) == {EVENTS.key}


async def test_repeated_calls_for_one_request_count_once(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(50):
        bridge.learn(LEDGER.key, "sum up all bookings")
    assert uses(await bridge.next_run(), "sum up all bookings") == 1
    monkeypatch.setattr(usage_module, "SAME_REQUEST_SECONDS", -1.0)
    bridge.learn(LEDGER.key, "sum up all bookings")
    assert uses(await bridge.next_run(), "sum up all bookings") == 2


async def test_a_text_without_a_request_is_not_learned(bridge: Bridge) -> None:
    bridge.learn(LEDGER.key, "", "OK, go on please!", "Ja, weiter")
    bridge.learn(TOOL_SEARCH.key, "find a tool for bookings")
    assert not await bridge.next_run()


async def test_without_learning_no_request_is_learned_or_counted(
    bridge: Bridge, place: Place
) -> None:
    bridge.learn(LEDGER.key, "How much did we spend?")
    await bridge.next_run()
    off = Bridge(place, learns=False)
    off.learn(LEDGER.key, "spending by month")
    assert not await off.next_run()
    assert len(bridge.execute("SELECT * FROM xai_mcp_learned")) == 1
    off.recorder.close(_SECONDS)


def test_the_settings_and_a_variable_switch_learning_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """An invalid value counts as off: remembered requests are the words of people."""
    rows: list[tuple[dict[str, Any], str, bool]] = [
        ({}, "", True),
        ({"learn": False}, "", False),
        ({"learn": "no"}, "", False),
        ({}, "OFF", False),
        ({"learn": False}, "on", True),
        ({}, "perhaps", False),
    ]
    for section, variable, learns in rows:
        monkeypatch.setenv("XAI_MCP_LEARN", variable)
        settings = settings_from({"mcpServers": {}, "toolSearch": section})
        assert settings.search.learns is learns
        is_understood = variable != "perhaps" and section.get("learn") != "no"
        assert is_understood == (not any("learn" in x.lower() for x in settings.notes))


async def test_without_a_history_nothing_is_remembered_and_one_warning_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "history.db").mkdir()
    bridge = Bridge(place_of(tmp_path / "history.db", tmp_path))
    with anyio.fail_after(_SECONDS):
        while not caplog.messages:
            bridge.learn(LEDGER.key, "How much did we spend?")
            bridge.usage.follow("default")
            assert not await bridge.usage.remembered("default")
    bridge.usage.follow("default")
    assert not await bridge.usage.remembered("default")
    (warning,) = caplog.messages
    assert "without what they were used for" in warning
    bridge.recorder.close(0)


async def test_a_locked_history_delays_neither_learning_nor_a_search(
    bridge: Bridge, place: Place
) -> None:
    bridge.learn(LEDGER.key, "How much did we spend?")
    remembered = await bridge.next_run()
    assert place.file is not None
    with closing(sqlite3.connect(place.file, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        bridge.learn(LEDGER.key, "spending by month")
        bridge.usage.follow("default")
        with anyio.fail_after(10.0):  # it would be thirty seconds
            for _ in range(100):  # the first of them waits for a moment, and the others do not
                assert await bridge.usage.remembered("default") is remembered
    await bridge.next_run()
    assert len(bridge.execute("SELECT * FROM xai_mcp_learned")) == 2


def uses(remembered: Remembered, text: str) -> int:
    return remembered.uses_like(LEDGER.key, text.split(), lambda _: 1.0)
