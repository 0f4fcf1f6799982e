"""When a bridge is closed nothing keeps what wrote its history alive."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

from tests.support.histories import memory_of
from tests.support.mcp_servers import gallery_entry
from xai_mcp_agent import Bridge
from xai_mcp_agent.history.recording.recorder import HistoryRecorder


def used(folder: Path) -> weakref.ref[HistoryRecorder]:
    """The recorder of a bridge that was used in many ways, and closed."""
    folder.mkdir()
    with Bridge({"mcpServers": {"gallery": gallery_entry()}}, store=folder / "h.db") as bridge:
        bridge.connect(wait=True)
        bridge.call_tool("gallery", "add", {"a": 1, "b": 2})
        bridge.search_tools("add numbers")
        bridge.records()
        bridge.history()
        bridge.versions("gallery", "add")
        return weakref.ref(memory_of(bridge))


def test_nothing_keeps_the_recorder_of_a_bridge_that_was_closed(tmp_path: Path) -> None:
    recorders = [used(tmp_path / str(number)) for number in range(2)]
    gc.collect()
    assert [x() for x in recorders] == [None, None]
