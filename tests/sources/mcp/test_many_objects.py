"""Results of any size and make arrive as they were sent, and hold up nobody else."""

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
from xai_mcp_agent.sources.web.large_json import TooMuch, read_large, takes_long

MEGABYTE = 1_000_000
PLAIN = {
    "text": "x" * 10 * MEGABYTE,
    "prose": "Words, and what is between them.\n" * 30_000,
    "foreign": "\u4e2d\u6587" * MEGABYTE,
    "table": [{"name": "a row", "numbers": [1, 2, 3], "note": "words " * 20}] * 5_000,
}
LABORIOUS = {
    "objects": [{"a": 1}] * 100_000,
    "lists": [[]] * 100_000,
    "numbers": [1, 2] * 400_000,
    "escapes": '"\n' * 400_000,
    "enormous": "x" * 17 * 1024**2,
    "enormous and foreign": "\u4e2d\u6587" * 3 * MEGABYTE,
}


def as_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


@pytest.mark.parametrize("kind", PLAIN)
def test_what_is_read_in_no_time_is_read_at_once(kind: str):
    assert not takes_long(as_json(PLAIN[kind]))


@pytest.mark.parametrize("kind", LABORIOUS)
def test_what_takes_long_is_known_beforehand(kind: str):
    assert takes_long(as_json(LABORIOUS[kind]))


@pytest.mark.parametrize("kind", ["prose", "table", *LABORIOUS])
def test_everything_is_read_as_it_is(kind: str):
    value = {**PLAIN, **LABORIOUS}[kind]
    assert read_large(as_json(value)) == value


def test_what_the_fast_reader_refuses_is_read_all_the_same():
    """Half a character; servers that cut texts anywhere send them."""
    value = ["\ud83d", "x" * MEGABYTE]
    assert read_large(json.dumps(value).encode()) == value


def test_more_than_can_be_handled_is_refused_and_said():
    with pytest.raises(TooMuch, match="made of more than 500,000 objects and lists"):
        read_large(as_json([{"a": 1}] * 500_001))


ROWS = [{"a": 1}] * 100_000
ANSWER = '{"jsonrpc": "2.0", "id": ID, "result": {"content": [], "structuredContent": %s}}'


@pytest.mark.parametrize("way", ["stdio", "application/json", "text/event-stream"])
def test_very_many_objects_arrive_and_hold_up_nobody(way: str):
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
