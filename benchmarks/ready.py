"""Ready time of many servers started together, against the slowest of them started alone.

The servers are of the same file; a server of the SDK costs about a second of processor time
to start, so with more servers than cores the cores are what is measured. That share is
shown: the same servers as bare processes, started together and asked one thing.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from xai_mcp_agent import Bridge

from .rows import IS_SMALLEST, Row, seconds, size

_SERVER = str(Path(__file__).with_name("echo_server.py"))
_HELLO = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"bench","version":"0"}}}\n'
)


def rows() -> Iterator[Row]:
    """Measure 1, 5 and 20 servers; in the smallest form 1 and 2."""
    _ready(1)  # the libraries are imported once
    alone = min(_ready(1) for _ in range(size(3, 1)))
    yield Row("one server ready", alone, " s")
    for count in (2,) if IS_SMALLEST else (5, 20):
        together, bare = _ready(count), _bare(count)
        yield Row(f"{count} servers ready together / one alone", together / alone, "x")
        detail = "the same servers as processes that answer once"
        yield Row(
            f"{count} servers ready, bridge / bare processes", together / bare, "x", 1.3, detail
        )


def _ready(count: int) -> float:
    entry = {"command": sys.executable, "args": [_SERVER]}
    with Bridge({"mcpServers": {f"s{n}": entry for n in range(count)}}) as bridge:
        return seconds(lambda: bridge.connect(wait=True))


def _bare(count: int) -> float:
    started: list[subprocess.Popen[bytes]] = []

    def start_and_ask() -> None:
        for _ in range(count):
            process = subprocess.Popen(
                [sys.executable, _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            assert process.stdin is not None
            process.stdin.write(_HELLO)
            process.stdin.flush()
            started.append(process)
        for process in started:
            assert process.stdout is not None
            process.stdout.readline()

    try:
        return seconds(start_and_ask)
    finally:
        for process in started:
            process.communicate(timeout=20)
