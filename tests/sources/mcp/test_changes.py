"""Tools that change while a server runs: in each era, on each transport, listed once."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.bridges import bridge_with, wait_for_tool
from tests.support.fault_http import fault_http
from tests.support.fault_server import entry
from tests.support.processes import wait_until
from xai_mcp_agent import Bridge

LISTING = "tools/list"
NOTICE = '{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}'
CALLS = 100  # as many listings could happen meanwhile


def listings(bridge: Bridge) -> int:
    """Return how many requests for its tools the server has counted."""
    return json.loads(bridge.call_tool("it", "seen").text).count(LISTING)


def test_a_tool_that_a_server_adds_appears_by_itself(galleries: Bridge, way: str):
    """MCP, both eras: a change notice is a cue to list again. With servers of the SDK."""
    galleries.list_tools(way)
    name = f"new_on_{way}"
    galleries.call_tool(way, "grow", {"name": name})
    assert wait_for_tool(galleries, way, name).description == f"Says {name}."
    assert galleries.call_tool(way, name).text == f"I am {name}."


def test_a_server_that_sends_a_notice_for_each_listing_is_listed_ever_more_rarely(tmp_path: Path):
    journal = tmp_path / "journal"
    with bridge_with(
        it=entry(on={LISTING: [["usual"], ["line", NOTICE]]}, journal=str(journal))
    ) as bridge:
        bridge.list_tools("it")

        def count() -> int:
            return journal.read_text(encoding="utf-8").count(LISTING)

        wait_until(lambda: count() >= 4, "it has listed a few times")
        before = count()
        for _ in range(CALLS):
            assert bridge.call_tool("it", "echo", {"text": "fine"}).text == "fine"
        # Each pause is twice the one before: however slow the calls are, listings are few.
        assert count() - before <= CALLS / 10


def test_an_expired_listing_is_fetched_again():
    """MCP 2026-07-28, caching: a list is good for its time-to-live."""
    with bridge_with(it=entry(era="modern", ttl_ms=150)) as bridge:
        bridge.list_tools("it")
        bridge.list_tools("it")
        assert listings(bridge) == 1
        wait_until(lambda: len(bridge.list_tools("it")) > 0 and listings(bridge) > 1, "it is stale")


def test_a_change_while_the_stream_was_closed_is_noticed_when_it_reopens():
    """MCP 2026-07-28: changes while no stream is open are not replayed."""
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        peer.end_streams()
        list(peer.peer.change_tools(["missed"]))  # the notice goes nowhere
        assert wait_for_tool(bridge, "it", "missed")
