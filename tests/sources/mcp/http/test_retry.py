"""When a request is sent again: after "later", never into the blue, never beyond its limit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial

import pytest

from tests.support.bridges import bridge_with
from tests.support.fault_http import (
    Fault,
    FaultHttp,
    cut_short,
    drop,
    during,
    fault_http,
    first,
    refuse,
)  # fmt: skip
from tests.support.http_faults import ClosesIdle, connected, reset
from tests.support.processes import wait_until
from tests.support.watchdog import ends_within
from xai_mcp_agent import ServerError, SourceClosed
from xai_mcp_agent.bridge.operations import Operations

ERAS = ["modern", "legacy"]
HINTS = {"plain": {}, "read": {"readOnlyHint": True}, "set": {"idempotentHint": True}}
TOOLS = [{"name": x, "inputSchema": {"type": "object"}, "annotations": HINTS[x]} for x in HINTS]
with_tools = partial(connected, tools=TOOLS)


def calls_of(peer: FaultHttp) -> int:
    """How often a call was sent so far; the next question is about those after it."""
    calls = peer.methods.count("tools/call")
    peer.methods.clear()
    return calls


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("status", [429, 503])
def test_a_call_refused_with_later_is_sent_again_after_the_wait_it_asks_for(era: str, status: int):
    """RFC 6585 and RFC 9110: neither was carried out, so any tool may be called again."""
    with with_tools(era) as (peer, bridge):
        peer.faults["tools/call"] = during(1.0, refuse(status, retry_after="1"))
        assert bridge.call_tool("it", "plain").text == "this is plain"
        assert calls_of(peer) == 2, "who came back earlier was refused once more"


def test_a_wait_may_be_given_as_a_date():
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    with with_tools() as (peer, bridge):
        peer.faults["tools/call"] = first(1, refuse(503, retry_after=soon))
        assert bridge.call_tool("it", "plain").text == "this is plain"


def test_a_server_that_says_later_again_and_again_is_asked_twice():
    with with_tools() as (peer, bridge):
        peer.faults["tools/call"] = refuse(429, "slow down", retry_after="0")
        with pytest.raises(ServerError, match="HTTP 429: slow down") as caught:
            bridge.call_tool("it", "plain")
        assert "wait a while" in caught.value.next_step
        assert calls_of(peer) == 2


FAR = format_datetime(datetime.now(UTC) + timedelta(days=30), usegmt=True)


def test_a_wait_that_a_call_has_no_time_for_or_that_is_none_is_not_waited_for():
    later = {"31536000": r"retry after 31536000 s", "30": "30 s", "9" * 400: "inf s", FAR: "2591"}
    odd = dict.fromkeys(["", "soon", "-5", "1e9", "\u0663", "Thu, 99 Foo 2026"], "503: busy")
    with with_tools() as (peer, bridge):
        for asked, words in (later | odd).items():
            header = asked.encode().decode("latin-1")
            peer.faults["tools/call"] = first(1, refuse(503, "busy", retry_after=header))
            with ends_within(15), pytest.raises(ServerError, match=words):
                bridge.call_tool("it", "plain", timeout_seconds=20)
            assert calls_of(peer) == 1
            assert bridge.call_tool("it", "plain").text == "this is plain"
            calls_of(peer)


@pytest.mark.parametrize("era", ERAS)
def test_a_server_that_is_just_starting_is_waited_for(era: str):
    with fault_http(era=era) as peer:
        for method in ("server/discover", "initialize", "tools/list"):
            peer.faults[method] = first(1, refuse(503, "starting", retry_after="1"))
        with bridge_with(it=peer.entry()) as bridge:
            assert bridge.call_tool("it", "echo", {"text": "up"}).text == "up"
            assert bridge.servers()[0].era.startswith("2026" if era == "modern" else "2025")


def test_an_sse_server_that_is_just_starting_is_waited_for():
    with fault_http() as peer, bridge_with(it={"url": peer.sse_url}) as bridge:
        peer.faults["initialize"] = first(1, refuse(429, "slow down", retry_after="1"))
        assert bridge.list_tools("it")


QUIET_ENDS: dict[str, Fault] = {
    "502": refuse(502, "bad gateway"),
    "504": refuse(504, "gateway timeout"),
    "dropped": drop,
    "cut short": cut_short,
    "reset": reset,
}


@pytest.mark.parametrize("era", ERAS)
def test_after_a_break_a_call_that_may_go_twice_goes_twice_at_most_and_no_other_does(era: str):
    with with_tools(era) as (peer, bridge):
        for name, fault in QUIET_ENDS.items():
            for tool in ("read", "set"):
                peer.faults["tools/call"] = first(1, fault)
                assert bridge.call_tool("it", tool).text == f"this is {tool}", name
                assert calls_of(peer) == 2, name
            for tool, times in (("read", 2), ("plain", 1)):
                peer.faults["tools/call"] = fault
                with pytest.raises((ServerError, SourceClosed)):
                    bridge.call_tool("it", tool)
                assert calls_of(peer) == times, (name, tool)
                peer.faults.clear()
                assert bridge.call_tool("it", "plain").text == "this is plain"
                calls_of(peer)


def test_other_refusals_are_not_tried_again():
    with with_tools() as (peer, bridge):
        for status in (400, 401, 403, 405, 409, 413, 500, 501, 507):
            peer.faults["tools/call"] = refuse(status, "no", retry_after="0")
            with pytest.raises(ServerError, match=f"HTTP {status}: no"):
                bridge.call_tool("it", "read")
            assert calls_of(peer) == 1
            peer.faults.clear()
            assert bridge.call_tool("it", "read").text == "this is read"
            calls_of(peer)


def test_a_connection_that_ends_just_when_it_is_used_costs_no_call_that_may_go_twice():
    with with_tools() as (peer, bridge):
        peer.faults["tools/call"] = ClosesIdle()
        assert [bridge.call_tool("it", "read").text for _ in range(4)] == ["this is read"] * 4


def test_a_call_that_was_given_up_while_it_waited_is_not_carried_out_later():
    """In the handshake era the request outlives the call that made it."""
    with with_tools("legacy") as (peer, bridge):
        peer.faults["tools/call"] = first(2, refuse(503, retry_after="1"))
        call = bridge.submit(Operations.call_tool, "it", "plain")
        wait_until(lambda: "tools/call" in peer.methods, "the call came")
        call.cancel()
        wait_until(lambda: "notifications/cancelled" in peer.methods, "it was given up")
        assert bridge.call_tool("it", "read").text == "this is read"
        assert calls_of(peer) == 3, "the one given up, and twice the other"
