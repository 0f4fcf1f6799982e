"""Streams of servers behind a URL: answers without an end, resumed ones, and those for notices."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.bridges import bridge_with, status_of, wait_for_state
from tests.support.fault_http import FaultHttp, Hang, fault_http, first, refuse
from tests.support.http_faults import Resumable, call, connected, dripping, silent_after
from tests.support.processes import wait_until
from tests.support.watchdog import ends_within
from xai_mcp_agent import SourceError, SourceFailed, ToolTimeout


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


def only_sse(peer: FaultHttp, status: int) -> None:
    """The stream is at the URL itself, and a POST to it is refused."""
    peer.faults["*"] = lambda handler, message: (
        handler.answer(status) if handler.path == "/mcp" else handler.answer_well(message)
    )
    peer.faults["GET"] = lambda handler, _: handler.open_stream()


@pytest.mark.parametrize("status", [400, 404, 405])
def test_a_refused_post_means_the_older_kind_which_is_remembered(status: int):
    with fault_http() as peer, bridge_with(it=peer.entry()) as bridge:
        only_sse(peer, status)
        assert call(bridge, "old") == "old"
        assert status_of(bridge, "it").transport == "sse"
        posted = peer.paths.count("/mcp")
        peer.end_streams()
        wait_for_state(bridge, "it", "retrying", "connecting")
        assert call(bridge, "back") == "back"
        assert peer.paths.count("/mcp") == posted


def test_a_type_that_is_given_is_believed():
    with fault_http() as peer, bridge_with(it=peer.entry(type="http")) as bridge:
        only_sse(peer, 405)
        bridge.connect("it", wait=True)
        assert 'set "type": "sse"' in status_of(bridge, "it").next_step


def test_a_server_that_is_of_neither_kind_is_reported_by_its_first_answer():
    with fault_http() as peer, bridge_with(it=peer.entry()) as bridge:
        peer.faults["*"] = refuse(404, "nothing here")
        peer.faults["GET"] = refuse(500, "nor here")
        bridge.connect("it", wait=True)
        assert "HTTP 404: nothing here" in status_of(bridge, "it").error
        assert "also not of the older kind (SSE)" in status_of(bridge, "it").next_step


def test_a_refusal_in_the_protocols_own_words_is_no_sign_of_the_older_kind():
    said = '{"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "expired"}}'
    with fault_http() as peer, bridge_with(it=peer.entry()) as bridge:
        peer.faults["*"] = refuse(400, said, "application/json")
        peer.faults["GET"] = lambda handler, _: handler.open_stream()
        with ends_within(25), pytest.raises(SourceFailed, match="expired"):
            bridge.list_tools("it")
        assert peer.streams == []


def naming(place: bytes, end: bytes) -> Any:
    """A stream that says that messages go there."""
    event = end.join([b"event: endpoint", b"data: " + place, b"", b""])
    return lambda handler, _: handler._stream([event])


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize(
    ("place", "words"),
    [
        (b"//user:pass@elsewhere.invalid/in?key=x", "http://elsewhere.invalid/in is on another"),
        (b"http://[::1/in", "sent to 'http://[::1/in', which is no address"),
    ],
)
def test_an_endpoint_elsewhere_is_reported_at_once_and_gets_nothing(
    place: bytes, words: str, end: bytes
):
    """Servers made with the Python SDK end lines with CRLF."""
    with fault_http() as peer, bridge_with(it={"url": peer.sse_url}) as bridge, ends_within(20):
        peer.faults["GET"] = naming(place, end)
        with pytest.raises(SourceFailed) as caught:
            bridge.list_tools("it")
        assert words in caught.value.problem
        assert "key=" not in str(caught.value)
        assert caught.value.next_step == "Write the address where the server really is as `url`."
        peer.faults.clear()
        assert call(bridge) == "fine"
