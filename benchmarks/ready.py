"""Ready time of many servers started together, against the slowest of them started alone.

A server of the SDK costs about a second of processor time to start, so with more servers than
cores the cores are what is measured. To show that share, the same servers are also started as bare
processes and asked one thing each.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from xai_mcp_agent import Bridge

from .echo import COMMAND, ENTRY, client_of
from .rows import IS_SMALLEST, Row, seconds, size


def rows() -> Iterator[Row]:
    """Measure 1, 5 and 20 servers; in the smallest form 1 and 2."""
    _ready_seconds(1)  # the libraries are imported once
    alone = min(_ready_seconds(1) for _ in range(size(3, 1)))
    yield Row("one server ready", alone, " s")
    for count in (2,) if IS_SMALLEST else (5, 20):
        together, bare = _ready_seconds(count), _bare_seconds(count)
        yield Row(f"{count} servers ready together / one alone", together / alone, "x")
        what = f"{count} servers ready, bridge / bare processes"
        detail = "the same servers as processes that answer once"
        yield Row(what, together / bare, "x", 1.3, detail)


def _ready_seconds(count: int) -> float:
    with Bridge({"mcpServers": {f"s{n}": ENTRY for n in range(count)}}) as bridge:
        return seconds(lambda: bridge.connect(wait=True))


def _bare_seconds(count: int) -> float:
    with ExitStack() as stack:

        def start_all() -> None:
            clients = [stack.enter_context(client_of(COMMAND)) for _ in range(count)]
            for client in clients:
                client.wait_until_ready()

        return seconds(start_all)
