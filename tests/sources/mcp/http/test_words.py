"""What people read of a refusal or a broken answer: the right words, and few of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.bridges import bridge_with, status_of
from tests.support.fault_http import Fault, fault_http, refuse
from tests.support.fault_server import entry
from tests.support.http_faults import raw
from xai_mcp_agent import SourceError, SourceFailed

LONG = "w" * 60_000
# Of which a part is ours: what went wrong, where, and what to do.
MANY_CHARACTERS = 1_600
BAD_BYTES = b"\xff\xfe\x80"


def unauthorized(header: bytes, body: bytes = b"") -> Fault:
    """401 with these bytes as its challenge and its body."""
    length = b"content-length: %d\r\n\r\n" % len(body)
    return raw(b"HTTP/1.1 401 No\r\nwww-authenticate: " + header + b"\r\n" + length + body)


@pytest.mark.parametrize(
    "fault",
    [
        unauthorized(BAD_BYTES),
        unauthorized(b'Bearer realm="' + BAD_BYTES + b'"', BAD_BYTES),
        refuse(401, content_encoding="gzip", body="not packed at all"),
        refuse(401, content_encoding="gzip, gzip, gzip", body="x"),
        raw(b"HTTP/1.1 401 " + BAD_BYTES + b"\r\ncontent-length: 0\r\n\r\n"),
    ],
    ids=["challenge", "challenge and body", "not packed", "packed often", "reason"],
)
@pytest.mark.parametrize("settings", [{}, {"auth": False}], ids=["sign-in", "no sign-in"])
def test_401_stays_401_whatever_bytes_come_with_it(fault: Fault, settings: dict[str, Any]):
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry(**settings)) as bridge:
        peer.faults["*"] = fault
        with pytest.raises(SourceFailed) as caught:
            bridge.list_tools("it")
        assert "HTTP 401" in caught.value.problem
        assert "`Authorization`" in caught.value.next_step
        peer.faults.clear()
        assert bridge.call_tool("it", "echo", {"text": "fine"}).text == "fine"


def rpc_error(handler: Any, message: dict[str, Any]) -> None:
    """An error of JSON-RPC with many words."""
    said = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -1, "message": LONG}}
    handler.answer(200, json.dumps(said).encode(), "application/json")


@pytest.mark.parametrize(
    "fault",
    [
        rpc_error,
        refuse(500, LONG),
        refuse(500, json.dumps({"jsonrpc": "2.0", "error": {"code": -1, "message": LONG}})),
        refuse(307, location=f"http://elsewhere.invalid/{LONG}"),
        raw(f"HTTP/1.1 banana {LONG}\r\n\r\n".encode()),
        raw(f"HTTP/1.1 500 {LONG}\r\ncontent-length: 0\r\n\r\n".encode()),
    ],
    ids=["error", "page", "refused with an error", "redirect", "status line", "reason"],
)
def test_long_words_are_cut(fault: Fault):
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        peer.faults["tools/call"] = fault
        with pytest.raises(SourceError) as caught:
            bridge.call_tool("it", "echo", {"text": "x"})
        assert len(str(caught.value)) < MANY_CHARACTERS
        bridge.disconnect("it")
        peer.faults = {"*": fault}
        with pytest.raises(SourceError) as caught:
            bridge.list_tools("it")
        assert len(str(caught.value)) < MANY_CHARACTERS


def test_long_words_over_stdio_are_cut_too():
    with bridge_with(it=entry()) as bridge, pytest.raises(SourceError) as caught:
        bridge.call_tool("it", "rpc_error", {"code": -5, "message": LONG})
    assert len(str(caught.value)) < MANY_CHARACTERS


def test_a_server_with_a_very_long_name_is_shown_with_its_beginning():
    server = {"name": LONG, "version": "1"}
    answer = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": server}
    with bridge_with(it=entry(on={"initialize": [["reply", answer]]})) as bridge:
        bridge.list_tools("it")
        assert status_of(bridge, "it").server == "w" * 190 + " ... (cut)"
