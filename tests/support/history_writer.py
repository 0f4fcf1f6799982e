"""A process that writes a history as a bridge does, for tests that kill it or start thirty.

    python -m tests.support.history_writer STORE FOLDER SOURCE FIRST COUNT EACH

STORE is what a person would name, in a project in FOLDER. It connects SOURCE, reports COUNT calls,
numbered from FIRST on, and prints the number of the last one whenever EACH more are written down.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.databases import place_of
from xai_mcp_agent import Tool, ToolKey
from xai_mcp_agent.core.events import Inventory, InventoryChanged, SourceConnected
from xai_mcp_agent.history.recording.recorder import HistoryRecorder

_SECONDS = 60.0
NAMES = ("look", "listen")


def main(store: str, folder: str, source: str, *counts: str) -> None:
    """Write them all, or until it is killed."""
    first, count, each = map(int, counts)
    memory = HistoryRecorder(place_of(store, Path(folder)), str, {"arguments"})
    tools = tuple(Tool(ToolKey("mcp", source, name), name, {"type": "object"}) for name in NAMES)
    memory.notice(SourceConnected(source, "stdio", "2026-07-28"))
    memory.notice(InventoryChanged(source, Inventory(source, tools)))
    for number in range(first, first + count):
        key = ToolKey("mcp", source, NAMES[number % len(NAMES)])
        memory.called(key, 0.001, "", {"number": number})
        if (number + 1 - first) % each == 0:
            memory.settled().result(_SECONDS)
            print(number, flush=True)
    memory.close(_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
