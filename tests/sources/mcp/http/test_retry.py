"""Requests that are sent again: after a wait if the server asks for one, within their limit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial

import pytest

from tests.support.bridges import bridge_with
from tests.support.fault_http import FaultHttp, fault_http
from tests.support.http_faults import ClosesIdle, Fault, connected, cut_short, drop, first, refuse
from tests.support.processes import wait_until
from tests.support.watchdog import ends_within
from xai_mcp_agent import ServerError, SourceClosed
from xai_mcp_agent.bridge.operations import Operations

HINTS = {"plain": {}, "read": {"readOnlyHint": True}, "set": {"idempotentHint": True}}
TOOLS = [{"name": x, "inputSchema": {"type": "object"}, "annotations": HINTS[x]} for x in HINTS]
with_tools = partial(connected, tools=TOOLS)


def calls_of(peer: FaultHttp) -> int:
    """Return the number of calls since the last time, and count anew."""
    calls = peer.methods.count("tools/call")
    peer.methods.clear()
    return calls


def test_a_call_refused_with_a_wait_is_sent_again_after_it():
    """RFC 6585 and RFC 9110: it was not carried out, so any tool may be called again.

    The fault suite has a wait in seconds, in both eras.
    """
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=1.5), usegmt=True)
    with with_tools() as (peer, bridge):
        peer.faults["tools/call"] = first(1, refuse(503, retry_after=soon))
        assert bridge.call_tool("it", "plain").text == "plain {}"
        assert calls_of(peer) == 2


FAR = format_datetime(datetime.now(UTC) + timedelta(days=30), usegmt=True)


def test_a_wait_that_is_too_long_or_unreadable_fails_the_call_at_once():
    later = {"31536000": r"retry after 31536000 s", "30": "30 s", "9" * 400: "inf s", FAR: "2591"}
    odd = dict.fromkeys(["", "soon", "-5", "Thu, 99 Foo 2026"], "503: busy")
    with with_tools() as (peer, bridge):
        for wait, words in (later | odd).items():
            header = wait.encode().decode("latin-1")
            peer.faults["tools/call"] = first(1, refuse(503, "busy", retry_after=header))
            with ends_within(15), pytest.raises(ServerError, match=words):
                bridge.call_tool("it", "plain", timeout_seconds=20)
            assert calls_of(peer) == 1
            assert bridge.call_tool("it", "plain").text == "plain {}"
            calls_of(peer)


def test_an_sse_server_that_is_just_starting_is_waited_for():
    with fault_http() as peer, bridge_with(it={"url": peer.sse_url}) as bridge:
        peer.faults["initialize"] = first(1, refuse(429, "slow down", retry_after="1"))
        assert bridge.list_tools("it")


BREAKS: dict[str, Fault] = {
    "502": refuse(502, "bad gateway"),
    "504": refuse(504, "gateway timeout"),
    "dropped": drop,
    "cut short": cut_short,
}


def test_a_broken_call_is_sent_twice_at_most_and_only_if_its_tool_allows_it(era: str):
    with with_tools(era) as (peer, bridge):
        for name, fault in BREAKS.items():
            for tool in ("read", "set"):
                peer.faults["tools/call"] = first(1, fault)
                assert bridge.call_tool("it", tool).text == f"{tool} {{}}", name
                assert calls_of(peer) == 2, name
            peer.faults["tools/call"] = first(1, fault)
            with pytest.raises((ServerError, SourceClosed)):
                bridge.call_tool("it", "plain")
            assert calls_of(peer) == 1, name
        peer.faults["tools/call"] = fault
        with pytest.raises((ServerError, SourceClosed)):
            bridge.call_tool("it", "read")
        assert calls_of(peer) == 2


def test_other_refusals_are_not_tried_again():
    with with_tools() as (peer, bridge):
        for status in (400, 401, 403, 405, 409, 413, 500, 501, 507):
            peer.faults["tools/call"] = refuse(status, "no", retry_after="0")
            with pytest.raises(ServerError, match=f"HTTP {status}: no"):
                bridge.call_tool("it", "read")
            assert calls_of(peer) == 1


def test_a_repeatable_call_survives_a_connection_that_ends_when_it_is_used():
    with with_tools() as (peer, bridge):
        peer.faults["tools/call"] = ClosesIdle()
        assert [bridge.call_tool("it", "read").text for _ in range(4)] == ["read {}"] * 4


def test_a_call_that_is_cancelled_while_it_waits_is_not_sent_later():
    """In the handshake era the POST outlives its call."""
    with with_tools("legacy") as (peer, bridge):
        peer.faults["tools/call"] = first(2, refuse(503, retry_after="1"))
        call = bridge.submit(Operations.call_tool, "it", "plain")
        wait_until(lambda: "tools/call" in peer.methods, "the call has arrived")
        call.cancel()
        wait_until(lambda: "notifications/cancelled" in peer.methods, "it is cancelled")
        assert bridge.call_tool("it", "read").text == "read {}"
        assert calls_of(peer) == 3, "the cancelled call, and the other one twice"
