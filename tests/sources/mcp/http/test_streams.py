"""Streams of servers behind a URL: endless responses, resumed streams, streams for notices."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.bridges import bridge_with, status_of, wait_for_state
from tests.support.fault_http import fault_http
from tests.support.http_faults import Hang, Resumable, call, connected, first, only_sse, refuse
from tests.support.processes import wait_until
from tests.support.watchdog import ends_within
from xai_mcp_agent import SourceError, SourceFailed


def test_a_stream_that_breaks_off_for_ever_ends_with_its_call_and_is_resumed_slowly():
    """MCP 2025-11-25, transports, resumability: a GET with `Last-Event-ID`, after `retry`."""
    with connected("legacy") as (peer, bridge):
        stream = Resumable(peer, breaks=1_000_000, retry_ms=0)
        with pytest.raises(SourceError):
            call(bridge, timeout_seconds=0.3)
        assert stream.resumed[:2] == ["0", "1"][: len(stream.resumed)]
        assert len(stream.resumed) <= 20
        count = len(stream.resumed)
        peer.faults.clear()
        assert call(bridge) == "fine"
        assert len(stream.resumed) <= count + 1, "a call that has ended is not resumed"


def test_a_hundred_calls_at_once_over_one_server_are_all_answered():
    with connected() as (peer, bridge), ThreadPoolExecutor(101) as threads:
        hang = Hang()
        peer.faults["tools/call"] = first(1, hang)
        slow = threads.submit(call, bridge, "slow", timeout_seconds=30)
        assert hang.was_called.wait(10)
        texts = [str(x) for x in range(100)]
        assert list(threads.map(lambda x: call(bridge, x), texts)) == texts
        bridge.disconnect("it")
        assert isinstance(slow.exception(10), SourceError)


def test_a_stream_for_notices_that_is_refused_at_first_is_opened_later():
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


def test_sse_is_used_and_remembered_after_a_refused_post():
    with fault_http() as peer, bridge_with(it=peer.entry()) as bridge:
        only_sse(peer, 404)
        assert call(bridge, "old") == "old"
        assert status_of(bridge, "it").transport == "sse"
        posted = peer.paths.count("/mcp")
        peer.end_streams()
        wait_for_state(bridge, "it", "retrying", "connecting")
        assert call(bridge, "back") == "back"
        assert peer.paths.count("/mcp") == posted


def test_the_type_in_the_settings_is_used_without_a_guess():
    with fault_http() as peer, bridge_with(it=peer.entry(type="http")) as bridge:
        only_sse(peer, 405)
        bridge.connect("it", wait=True)
        assert 'set "type": "sse"' in status_of(bridge, "it").next_step


def test_a_url_of_neither_transport_is_reported_with_its_first_response():
    with fault_http() as peer, bridge_with(it=peer.entry()) as bridge:
        peer.faults["*"] = refuse(404, "nothing here")
        peer.faults["GET"] = refuse(500, "nor here")
        bridge.connect("it", wait=True)
        assert "HTTP 404: nothing here" in status_of(bridge, "it").error
        assert "also not of the older kind (SSE)" in status_of(bridge, "it").next_step


def test_a_json_rpc_error_does_not_cause_a_try_with_sse():
    refusal = '{"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "expired"}}'
    with fault_http() as peer, bridge_with(it=peer.entry()) as bridge:
        peer.faults["*"] = refuse(400, refusal, "application/json")
        peer.faults["GET"] = lambda handler, _: handler.open_stream()
        with ends_within(25), pytest.raises(SourceFailed, match="expired"):
            bridge.list_tools("it")
        assert peer.streams == []


def test_an_endpoint_that_is_no_address_is_reported_at_once():
    """The fault suite has an endpoint on another server. The Python SDK sends CRLF."""
    event = b"event: endpoint\r\ndata: http://[::1/in\r\n\r\n"
    with fault_http() as peer, bridge_with(it={"url": peer.sse_url}) as bridge, ends_within(20):
        peer.faults["GET"] = lambda handler, _: handler._stream([event])
        with pytest.raises(SourceFailed) as caught:
            bridge.list_tools("it")
        assert "sent to 'http://[::1/in', which is not an address" in caught.value.problem
        assert caught.value.next_step == "Write the address where the server really is as `url`."
