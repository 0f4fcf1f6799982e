"""A process that writes a history as a bridge does, for tests that kill it or start several.

    python -m tests.support.history_writer STORE FOLDER SOURCE FIRST COUNT EACH

STORE is what a person would name, in a project in FOLDER. It prints its id, connects SOURCE, and
makes COUNT calls, numbered from FIRST on, of each tool in turn: one is only to read. It prints the
number of the last one whenever EACH more are written down. If EACH is 0 it does not wait for that
and prints each number when the call has returned; one more it begins, and then it waits.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.support.databases import place_of
from xai_mcp_agent import Tool, ToolKey
from xai_mcp_agent.core.events import Inventory, InventoryChanged, SourceConnected
from xai_mcp_agent.history.recording.recorder import HistoryRecorder

_SECONDS = 60.0
SAVE, LOOK = "save", "look"


def main(store: str, folder: str, source: str, *counts: str) -> None:
    """Make all calls."""
    print(os.getpid(), flush=True)
    first, count, each = map(int, counts)
    recorder = HistoryRecorder(place_of(store, Path(folder)), str, {"arguments"})
    save, look = (ToolKey("mcp", source, name) for name in (SAVE, LOOK))
    tools = tuple(Tool(key, key.name, {"type": "object"}) for key in (save, look))
    recorder.notice(SourceConnected(source, "stdio", "2026-07-28"))
    recorder.notice(InventoryChanged(source, Inventory(source, tools)))
    for number in range(first, first + count):
        arguments = {"number": number}
        key, start_number = (look, 0) if number % 2 else (save, recorder.note_call(save, arguments))
        recorder.record_call(key, 0.001, "", arguments, number=start_number)
        if each and (number + 1 - first) % each == 0:
            recorder.flush().result(_SECONDS)
        if not each or (number + 1 - first) % each == 0:
            print(number, flush=True)
    if not each:
        recorder.note_call(save, {"number": first + count})
        print("waits", flush=True)
        sys.stdin.read()
    recorder.close(_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
