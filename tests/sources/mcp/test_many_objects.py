"""A large result arrives as it was sent, and the event loop goes on meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.bridges import bridge_with
from tests.support.fault_http import fault_http
from tests.support.fault_server import entry
from tests.support.http_faults import event
from tests.support.stalls import STALL_SECONDS, watching
from xai_mcp_agent import Bridge

ROWS = [{"a": 1}] * 100_000
ANSWER = '{"jsonrpc": "2.0", "id": ID, "result": {"content": [], "structuredContent": %s}}'


@pytest.mark.parametrize("way", ["stdio", "application/json", "text/event-stream"])
def test_very_many_objects_arrive_and_block_no_other_work(way: str):
    """A tenth of a second is what others can wait for; more here, because machines are busy."""
    line = ANSWER % json.dumps(ROWS)
    with _server(way, line) as bridge, watching(bridge) as stalls:
        assert bridge.call_tool("it", "raw", {"line": line}).structured == ROWS
    assert stalls.longest_step_seconds < STALL_SECONDS


@contextmanager
def _server(way: str, line: str) -> Iterator[Bridge]:
    """One that answers with this line, over stdio or with HTTP answers of this type."""
    if way == "stdio":
        with bridge_with(it=entry()) as bridge:
            bridge.list_tools("it")
            yield bridge
        return

    def answer(handler: Any, message: dict[str, Any]) -> None:
        data = line.replace("ID", str(message["id"])).encode()
        handler.answer(200, event(data) if "stream" in way else data, way)

    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        peer.faults["tools/call"] = answer
        yield bridge
