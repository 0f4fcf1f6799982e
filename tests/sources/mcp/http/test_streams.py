"""Streams of servers behind a URL: answers without an end, resumed ones, and those for notices."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.bridges import bridge_with, status_of, wait_for_state
from tests.support.fault_http import FaultHttp, fault_http
from tests.support.http_faults import Hang, Resumable, call, connected, first, refuse
from tests.support.processes import wait_until
from tests.support.watchdog import ends_within
from xai_mcp_agent import SourceError, SourceFailed


def test_a_stream_that_breaks_off_for_ever_ends_with_its_call_and_does_not_spin():
    """MCP 2025-11-25, transports, resumability: a GET with `Last-Event-ID`, after `retry`."""
    with connected("legacy") as (peer, bridge):
        stream = Resumable(peer, breaks=1_000_000, retry_ms=0)
        with pytest.raises(SourceError):
            call(bridge, timeout_seconds=0.3)
        assert stream.resumed[:2] == ["0", "1"][: len(stream.resumed)]
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
        texts = [str(x) for x in range(100)]
        assert list(threads.map(lambda x: call(bridge, x), texts)) == texts
        bridge.disconnect("it")
        assert isinstance(slow.exception(10), SourceError)


def test_a_stream_for_notices_that_is_refused_for_a_while_is_opened_in_the_end():
    with fault_http(sessions=True, standing=True) as peer, bridge_with(it=peer.entry()) as bridge:
        peer.faults["GET"] = first(1, refuse(500))
        bridge.list_tools("it")
        wait_until(lambda: len(peer.streams) == 1, "the stream is open")


def test_a_stream_that_always_ends_at_once_causes_few_listings():
    calls = 60  # without pauses there would be about as many listings
    with fault_http(sessions=True, standing=True) as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        peer.faults["GET"] = refuse(200, "", "text/event-stream")
        listings = peer.methods.count("tools/list")
        peer.end_streams()
        assert [call(bridge) for _ in range(calls)] == ["fine"] * calls
        assert peer.methods.count("tools/list") - listings <= calls / 6


def only_sse(peer: FaultHttp, status: int) -> None:
    """The stream is at the URL itself, and a POST to it is refused."""
    peer.faults["*"] = lambda handler, message: (
        handler.answer(status) if handler.path == "/mcp" else handler.answer_well(message)
    )
    peer.faults["GET"] = lambda handler, _: handler.open_stream()


def test_a_refused_post_means_the_older_kind_which_is_remembered():
    with fault_http() as peer, bridge_with(it=peer.entry()) as bridge:
        only_sse(peer, 404)
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


def test_a_url_that_is_of_neither_kind_is_reported_by_its_first_answer():
    with fault_http() as peer, bridge_with(it=peer.entry()) as bridge:
        peer.faults["*"] = refuse(404, "nothing here")
        peer.faults["GET"] = refuse(500, "nor here")
        bridge.connect("it", wait=True)
        assert "HTTP 404: nothing here" in status_of(bridge, "it").error
        assert "also not of the older kind (SSE)" in status_of(bridge, "it").next_step


def test_a_refusal_in_the_protocols_own_words_is_no_sign_of_the_older_kind():
    refusal = '{"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "expired"}}'
    with fault_http() as peer, bridge_with(it=peer.entry()) as bridge:
        peer.faults["*"] = refuse(400, refusal, "application/json")
        peer.faults["GET"] = lambda handler, _: handler.open_stream()
        with ends_within(25), pytest.raises(SourceFailed, match="expired"):
            bridge.list_tools("it")
        assert peer.streams == []


def test_an_endpoint_that_is_no_address_is_reported_at_once():
    """The fault suite has one on another server; those of the Python SDK end lines with CRLF."""
    event = b"event: endpoint\r\ndata: http://[::1/in\r\n\r\n"
    with fault_http() as peer, bridge_with(it={"url": peer.sse_url}) as bridge, ends_within(20):
        peer.faults["GET"] = lambda handler, _: handler._stream([event])
        with pytest.raises(SourceFailed) as caught:
            bridge.list_tools("it")
        assert "sent to 'http://[::1/in', which is not an address" in caught.value.problem
        assert caught.value.next_step == "Write the address where the server really is as `url`."
