"""Calls over HTTP: cookies, both kinds of answers, calls that are given up, headers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.bridges import bridge_with
from tests.support.fault_http import FaultHttp, Hang, fault_http
from tests.support.http_faults import answered, event
from tests.support.processes import wait_until
from xai_mcp_agent import ToolTimeout


def calls_in(peer: FaultHttp) -> list[dict[str, str]]:
    """The headers of every call that came."""
    return [x for x, m in zip(peer.requests, peer.methods, strict=True) if m == "tools/call"]


def with_a_cookie(handler: Any, message: dict[str, Any]) -> None:
    """The right answer, and a cookie, as of a balancer that wants us at the same machine again."""
    handler.answer(200, answered(handler.owner, message), "application/json", set_cookie="at=b7")


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_cookie_that_a_server_sets_goes_along_with_the_next_call(era: str):
    with fault_http(era=era) as peer, bridge_with(it=peer.entry()) as bridge:
        peer.faults["tools/call"] = with_a_cookie
        for _ in range(2):
            assert bridge.call_tool("it", "echo", {"text": "a"}).text == "a"
        assert [x.get("cookie") for x in calls_in(peer)] == [None, "at=b7"]


def test_json_and_streams_may_take_turns_and_each_call_is_posted_once():
    """MCP 2026-07-28, transports: a server chooses the kind of each answer."""
    kinds = iter(["stream", "stream", "json", "json", "stream", "json"])

    def by_turns(handler: Any, message: dict[str, Any]) -> None:
        data = answered(handler.owner, message)
        if next(kinds) == "json":
            handler.answer(200, data, "application/json")
        else:
            handler.answer(200, event(data), "text/event-stream")

    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        peer.faults["tools/call"] = by_turns
        texts = [bridge.call_tool("it", "echo", {"text": str(n)}).text for n in range(6)]
        assert texts == [str(n) for n in range(6)]
        assert len(calls_in(peer)) == 6


def test_a_call_that_is_given_up_ends_its_connection_and_sends_nothing():
    """MCP 2026-07-28, transports: the end of the connection is the sign."""
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        assert bridge.call_tool("it", "echo", {"text": "a"}).text == "a"
        peer.faults["tools/call"] = hang = Hang()
        with pytest.raises(ToolTimeout):
            bridge.call_tool("it", "echo", {"text": "a"}, timeout_seconds=0.5)
        assert hang.gone.wait(20)
        del peer.faults["tools/call"]
        assert bridge.call_tool("it", "echo", {"text": "b"}).text == "b"
        assert "notifications/cancelled" not in peer.methods


def test_in_the_older_era_a_call_is_given_up_by_a_message():
    """MCP 2025-11-25, transports: the end of a connection is no sign."""
    with fault_http(era="legacy", sessions=True) as peer, bridge_with(it=peer.entry()) as bridge:
        assert bridge.call_tool("it", "echo", {"text": "a"}).text == "a"
        peer.faults["tools/call"] = Hang()
        with pytest.raises(ToolTimeout):
            bridge.call_tool("it", "echo", {"text": "a"}, timeout_seconds=0.5)
        del peer.faults["tools/call"]
        assert bridge.call_tool("it", "echo", {"text": "b"}).text == "b"
        wait_until(lambda: "notifications/cancelled" in peer.methods, "the message")


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_all_calls_have_the_same_headers_whoever_posts_them(era: str):
    with fault_http(era=era, sessions=era == "legacy") as peer:
        own = {"X-Key": "k-17", "User-Agent": "robot", "Host": "named.example"}
        with bridge_with(it=peer.entry(headers=own)) as bridge:
            bridge.connect(wait=True)
            bridge.call_tool("it", "echo", {"text": "a"})
        listing = peer.requests[peer.methods.index("tools/list")]
        (call,) = calls_in(peer)
        assert (call["x-key"], call["user-agent"], call["host"]) == tuple(own.values())
        named = {"mcp-name", "mcp-method"} if era == "modern" else set[str]()
        assert listing.keys() | named == call.keys()
        assert ("mcp-session-id" in call) == (era == "legacy")
        different = {x for x in listing if listing[x] != call[x]}
        assert different == {"mcp-method", "content-length"} & call.keys()
