"""Servers of the older HTTP+SSE whose settings name no transport are found out.

MCP 2025-11-25, transports, backwards compatibility.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.bridges import bridge_with, status_of, wait_for_state
from tests.support.fault_http import FaultHttp, fault_http, refuse
from tests.support.http_faults import call
from tests.support.watchdog import ends_within
from xai_mcp_agent import SourceFailed


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
