"""A process that makes calls as a bridge does, for tests that kill it.

    python -m tests.support.call_writer STORE FOLDER COUNT

STORE is what a person would name, in a project in FOLDER. It prints its id, and the number of each
call when that has returned; one more it begins, and then it waits.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.support.databases import place_of
from xai_mcp_agent import Tool, ToolKey
from xai_mcp_agent.core.events import Inventory, InventoryChanged, SourceConnected
from xai_mcp_agent.history.recording.recorder import HistoryRecorder

SAVE, LOOK = (ToolKey("mcp", "notes", name) for name in ("save", "look"))


def main(store: str, folder: str, count: str) -> None:
    """Make them all, each tool in turn: one is only to read."""
    print(os.getpid(), flush=True)
    recorder = HistoryRecorder(place_of(store, Path(folder)), str, {"arguments"})
    tools = tuple(Tool(key, key.name, {"type": "object"}) for key in (SAVE, LOOK))
    recorder.notice(SourceConnected("notes", "stdio", "2026-07-28"))
    recorder.notice(InventoryChanged("notes", Inventory("notes", tools)))
    for number in range(int(count)):
        arguments = {"number": number}
        key, begun = (LOOK, 0) if number % 2 else (SAVE, recorder.begun(SAVE, arguments))
        recorder.called(key, 0.001, "", arguments, begun=begun)
        print(number, flush=True)
    recorder.begun(SAVE, {"number": int(count)})
    print("waits", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
