"""Streams of servers behind a URL: answers without an end, resumed ones, and those for notices."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.bridges import bridge_with
from tests.support.fault_http import Hang, fault_http, first, refuse
from tests.support.http_faults import Resumable, call, connected, dripping, silent_after
from tests.support.processes import wait_until
from tests.support.watchdog import ends_within
from xai_mcp_agent import SourceError, ToolTimeout


def test_a_call_ends_at_its_limit_however_its_answer_does_not_end():
    """The fault suite has more of these, in both eras."""
    with connected() as (peer, bridge):
        for fault in (
            silent_after(b'{"jsonrpc": "2.0"'),
            silent_after(b"data: {", "text/event-stream"),
            dripping(0.05, "text/event-stream"),
        ):
            peer.faults["tools/call"] = fault
            with ends_within(20), pytest.raises(ToolTimeout):
                call(bridge, timeout_seconds=0.2)
            peer.faults.clear()
            assert call(bridge) == "fine"


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_stream_that_broke_off_goes_on_after_the_last_event(era: str):
    """MCP 2025-11-25, transports, resumability: a GET with `Last-Event-ID`, after `retry`."""
    with connected(era) as (peer, bridge):
        stream = Resumable(peer, 3)
        assert call(bridge, "whole") == "whole"
        assert stream.resumed == ["0", "1", "2"]
        assert peer.methods.count("tools/call") == 1


def test_a_stream_that_breaks_off_for_ever_ends_with_its_call_and_does_not_spin():
    with connected("legacy") as (peer, bridge):
        stream = Resumable(peer, breaks=1_000_000, retry_ms=0)
        with pytest.raises(SourceError):
            call(bridge, timeout_seconds=1)
        assert len(stream.resumed) <= 20
        seen = len(stream.resumed)
        peer.faults.clear()
        assert call(bridge) == "fine"
        assert len(stream.resumed) <= seen + 1, "nobody goes on for a call that is over"


def test_a_hundred_calls_at_once_over_one_server_are_all_answered():
    with connected() as (peer, bridge), ThreadPoolExecutor(101) as threads:
        hang = Hang()
        peer.faults["tools/call"] = first(1, hang)
        slow = threads.submit(call, bridge, "slow", timeout_seconds=30)
        assert hang.asked.wait(10)
        texts = [f"{x}" for x in range(100)]
        assert list(threads.map(lambda x: call(bridge, x), texts)) == texts
        bridge.disconnect("it")
        assert isinstance(slow.exception(10), SourceError)


_CALLS_IN_A_PAUSE = 10  # of a second or more; there are dozens, and without a pause one or two
_BETWEEN_CALLS_SECONDS = 0.01  # unless it is opened meanwhile


def test_a_stream_for_notices_that_keeps_breaking_is_opened_with_growing_pauses():
    """`retry: 0` would have it opened without any pause."""
    opened: list[int] = []  # after how many calls
    again = threading.Event()
    calls = 0

    def brief(handler: Any, _: dict[str, Any]) -> None:
        opened.append(calls)
        again.set()
        handler.answer(200, b"retry: 0\nid: 1\ndata:\n\n", "text/event-stream")

    with fault_http(sessions=True) as peer:
        peer.faults["GET"] = brief
        with bridge_with(it=peer.entry()) as bridge:
            bridge.list_tools("it")
            with ends_within(40):
                while len(opened) < 3:
                    assert call(bridge) == "fine"
                    calls += 1
                    again.wait(_BETWEEN_CALLS_SECONDS)
                    again.clear()
        between = [b - a for a, b in itertools.pairwise(opened)]
        assert min(between) > _CALLS_IN_A_PAUSE


def test_a_stream_for_notices_that_is_refused_for_a_while_is_opened_in_the_end():
    with fault_http(sessions=True, standing=True) as peer, bridge_with(it=peer.entry()) as bridge:
        peer.faults["GET"] = first(1, refuse(500))
        bridge.list_tools("it")
        wait_until(lambda: len(peer.streams) == 1, "the stream is open")


_MANY = 60  # calls: without pauses there would be about as many listings


def test_a_server_that_ends_its_stream_again_and_again_is_not_asked_all_the_time():
    with fault_http(sessions=True, standing=True) as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        peer.faults["GET"] = refuse(200, "", "text/event-stream")
        listings = peer.methods.count("tools/list")
        peer.end_streams()
        assert [call(bridge) for _ in range(_MANY)] == ["fine"] * _MANY
        assert peer.methods.count("tools/list") - listings <= _MANY / 6
