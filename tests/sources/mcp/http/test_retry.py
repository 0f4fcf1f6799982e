"""When a request is sent again: after "later", never into the blue, never beyond its limit."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

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
)
from tests.support.processes import wait_until
from tests.support.watchdog import ends_within
from xai_mcp_agent import Bridge, ServerError, SourceClosed
from xai_mcp_agent.bridge.operations import Operations

ERAS = ["modern", "legacy"]
TOOLS = {"plain": {}, "read": {"readOnlyHint": True}, "set": {"idempotentHint": True}}
BUSY = refuse(429, "slow down", retry_after="1")


def listed(name: str) -> dict[str, Any]:
    """A tool with the annotations of that name."""
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": TOOLS[name]}


@contextmanager
def connected(era: str = "modern", **entry: Any) -> Generator[tuple[FaultHttp, Bridge]]:
    """A server with the three tools, and a bridge that has listed them."""
    tools = [listed(name) for name in TOOLS]
    with (
        fault_http(era=era, sessions=era == "legacy", tools=tools) as peer,
        bridge_with(it=peer.entry(**entry)) as bridge,
    ):
        bridge.list_tools("it")
        yield peer, bridge


def calls_of(peer: FaultHttp) -> int:
    """How often a call was sent."""
    return peer.methods.count("tools/call")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("status", [429, 503])
def test_a_call_refused_with_later_is_sent_again_after_the_wait_it_asks_for(era: str, status: int):
    """RFC 6585 and RFC 9110: neither was carried out, so any tool may be called again."""
    with connected(era) as (peer, bridge):
        peer.faults["tools/call"] = during(1.0, refuse(status, retry_after="1"))
        assert bridge.call_tool("it", "plain").text == "this is plain"
        assert calls_of(peer) == 2, "who came back earlier was refused once more"


def test_a_wait_may_be_given_as_a_date():
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=3), usegmt=True)
    with connected() as (peer, bridge):
        peer.faults["tools/call"] = first(1, refuse(503, retry_after=soon))
        assert bridge.call_tool("it", "plain").text == "this is plain"


def test_a_server_that_says_later_again_and_again_is_asked_twice():
    with connected() as (peer, bridge):
        peer.faults["tools/call"] = refuse(429, "slow down", retry_after="0")
        with pytest.raises(ServerError) as caught:
            bridge.call_tool("it", "plain")
        assert "HTTP 429: slow down" in caught.value.problem
        assert "wait a while" in caught.value.next_step
        assert calls_of(peer) == 2
        peer.faults.clear()
        assert bridge.call_tool("it", "plain").text == "this is plain"
        assert peer.methods.count("initialize") <= 1, "the connection stayed"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("31536000", "31536000 s"),
        ("30", "30 s"),
        ("9" * 400, "inf s"),
        (format_datetime(datetime.now(UTC) + timedelta(days=30), usegmt=True), "2591"),
    ],
    ids=["a year", "seconds", "for ever", "a date"],
)
def test_a_wait_that_the_call_does_not_have_time_for_is_reported_at_once(asked: str, words: str):
    with connected() as (peer, bridge):
        peer.faults["tools/call"] = refuse(429, "slow down", retry_after=asked)
        with ends_within(15), pytest.raises(ServerError) as caught:
            bridge.call_tool("it", "plain", timeout_seconds=20)
        assert f"(retry after {words}" in caught.value.problem
        assert calls_of(peer) == 1


@pytest.mark.parametrize("asked", ["", "soon", "-5", "1e9", "٣", "Thu, 99 Foo 2026"])
def test_who_says_later_and_not_when_is_not_asked_again(asked: str):
    with connected() as (peer, bridge):
        odd = asked.encode().decode("latin-1")
        peer.faults["tools/call"] = first(1, refuse(503, "busy", retry_after=odd))
        with pytest.raises(ServerError, match="HTTP 503: busy"):
            bridge.call_tool("it", "plain")
        assert calls_of(peer) == 1


@pytest.mark.parametrize("era", ERAS)
def test_a_server_that_is_just_starting_is_waited_for(era: str):
    with fault_http(era=era) as peer:
        for method in ("server/discover", "initialize", "tools/list"):
            peer.faults[method] = first(1, refuse(503, "starting", retry_after="1"))
        with bridge_with(it=peer.entry()) as bridge:
            assert bridge.call_tool("it", "echo", {"text": "up"}).text == "up"
            assert bridge.servers()[0].era.startswith("2026" if era == "modern" else "2025")


def test_an_sse_server_that_is_just_starting_is_waited_for():
    with fault_http() as peer:
        peer.faults["initialize"] = first(1, BUSY)
        with bridge_with(it={"url": peer.sse_url}) as bridge:
            bridge.list_tools("it")


QUIET_ENDS: dict[str, Fault] = {
    "502": refuse(502, "bad gateway"),
    "504": refuse(504, "gateway timeout"),
    "dropped": drop,
    "cut short": cut_short,
}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("tool", ["read", "set"])
@pytest.mark.parametrize("fault", QUIET_ENDS)
def test_a_call_that_may_go_twice_goes_once_more_after_a_break(era: str, tool: str, fault: str):
    with connected(era) as (peer, bridge):
        peer.faults["tools/call"] = first(1, QUIET_ENDS[fault])
        assert bridge.call_tool("it", tool).text == f"this is {tool}"
        assert calls_of(peer) == 2


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("fault", QUIET_ENDS)
def test_a_call_that_may_change_something_never_goes_twice(era: str, fault: str):
    with connected(era) as (peer, bridge):
        peer.faults["tools/call"] = first(1, QUIET_ENDS[fault])
        with pytest.raises((ServerError, SourceClosed)):
            bridge.call_tool("it", "plain")
        assert calls_of(peer) == 1
        assert bridge.call_tool("it", "plain").text == "this is plain"


@pytest.mark.parametrize("fault", QUIET_ENDS)
def test_a_call_is_sent_twice_at_most_after_a_break(fault: str):
    with connected() as (peer, bridge):
        peer.faults["tools/call"] = QUIET_ENDS[fault]
        with pytest.raises((ServerError, SourceClosed)):
            bridge.call_tool("it", "read")
        assert calls_of(peer) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 405, 409, 413, 500, 501, 507])
def test_other_refusals_are_not_tried_again(status: int):
    with connected() as (peer, bridge):
        peer.faults["tools/call"] = refuse(status, "no", retry_after="0")
        with pytest.raises(ServerError, match=f"HTTP {status}: no"):
            bridge.call_tool("it", "read")
        assert calls_of(peer) == 1


def test_a_call_that_was_given_up_while_it_waited_is_not_carried_out_later():
    """In the handshake era the request outlives the call that made it."""
    with connected("legacy") as (peer, bridge):
        peer.faults["tools/call"] = first(2, refuse(503, retry_after="1"))
        call = bridge.submit(Operations.call_tool, "it", "plain")
        wait_until(lambda: calls_of(peer) == 1, "the call came")
        call.cancel()
        wait_until(lambda: "notifications/cancelled" in peer.methods, "it was given up")
        assert bridge.call_tool("it", "read").text == "this is read"
        assert calls_of(peer) == 3, "the one given up, and twice the other"
