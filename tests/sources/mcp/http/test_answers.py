"""Responses of servers behind a URL: accepted if they can be understood, else quoted in the error.

The fault suite has faults of responses in both eras; these are other bodies.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from typing import Any

import pytest

from tests.support.bridges import bridge_with, status_of
from tests.support.fault_http import fault_http
from tests.support.http_faults import Fault, Hang, call, connected, drop, event, raw, refuse
from tests.support.processes import wait_until
from tests.support.watchdog import ends_within
from xai_mcp_agent import ServerError, SourceClosed, SourceError, SourceFailed

TOKEN = "tok-0123456789abcdef"
JSON, STREAM = "application/json", "text/event-stream"
LOGIN = b"<!DOCTYPE html>\n<html><head><title>Sign in\n &amp; go on</title></head></html>"
RESULT = {"content": [{"type": "text", "text": "fine"}]}


def body(data: bytes, kind: str = JSON, status: int = 200, **headers: str) -> Fault:
    """Answer with these bytes."""
    return lambda handler, _: handler.answer(status, data, kind, **headers)


def message(
    before: bytes = b"", headers: Any = (), kind: str = JSON, id_type: Any = int, **parts: Any
) -> Fault:
    """Answer with a message of these parts; the default id is the request's."""

    def answer(handler: Any, request: dict[str, Any]) -> None:
        text = {"jsonrpc": "2.0", "id": id_type(request["id"]), **parts}
        data = before + json.dumps(text).encode()
        handler.answer(200, event(data) if kind == STREAM else data, kind, **dict(headers))

    return answer


UNUSABLE: tuple[tuple[Fault, str], ...] = (
    (body(LOGIN), "it is not valid JSON: Sign in & go on."),
    (body(b" \r\n"), "it is empty."),
    (body(b"", "", 204), "HTTP 204 with no content type instead of JSON."),
    (body(b'{"ok": true}'), 'it is not a JSON-RPC response: {"ok": true}.'),
    (message(jsonrpc="1.0", result={}), "it is not a valid message"),
    (message(method="ping"), "it is not a JSON-RPC response"),
    (body(b"[" * 100_000), "it is not a valid message."),
    (body(b"{}", content_encoding="gzip"), "it cannot be unpacked."),
    (body(zlib.compress(b"x" * 9999)[:9], content_encoding="deflate"), "it is"),
    (body(b"data: x\n\n", STREAM), "not a valid message."),
)  # fmt: skip


def test_an_unusable_response_is_quoted_and_fails_only_its_call():
    with connected() as (peer, bridge):
        for fault, words in UNUSABLE:
            peer.faults["tools/call"] = fault
            with pytest.raises(ServerError) as caught:
                call(bridge, timeout_seconds=20)
            assert "the call of 'echo' returned an unusable response: " in caught.value.problem
            assert words in caught.value.problem
            assert "its other tools are not affected" in caught.value.next_step
            peer.faults.clear()
            assert call(bridge) == "fine"


USABLE: dict[str, Fault] = {
    "after a byte order mark": message(b"\xef\xbb\xbf", result=RESULT),
    "id as text": message(id_type=str, result=RESULT),
    "id as text on a stream": message(id_type=str, result=RESULT, kind=STREAM),
    # The response to a POST belongs to its request.
    "id of no request": message(id=999_999, result=RESULT),
    "id of no request on a stream": message(id=999_999, result=RESULT, kind=STREAM),
    "character set in the wrong header": message(
        headers={"content_encoding": "utf-8"}, result=RESULT
    ),
}


def test_a_response_that_can_be_understood_is_accepted():
    with connected() as (peer, bridge):
        for name, fault in USABLE.items():
            peer.faults["tools/call"] = fault
            assert call(bridge, "x") == "fine", name
        # JSON-RPC 2.0: an error has no id if the server could not read the request's.
        peer.faults["tools/call"] = message(id=None, error={"code": -1, "message": "no luck"})
        with pytest.raises(ServerError, match="was refused: no luck"):
            call(bridge)


def test_a_large_response_over_sse_arrives_unchanged():
    """The SDK would end the connection over an event of more than one MiB."""
    with fault_http() as peer, bridge_with(it={"url": peer.sse_url}) as bridge:
        text = '"quoted" and \\ and \u4e2d\n' * 60_000
        result = {"content": [{"type": "text", "text": text}], "structuredContent": [[text]]}
        answer = bridge.call_tool("it", "result", result)
        assert (answer.text, answer.structured) == (text, [[text]])


def test_all_requests_have_the_same_headers(era: str):
    own = {"X-Key": "k-17", "User-Agent": "robot", "Host": "named.example"}
    with connected(era, headers=own) as (peer, bridge):
        call(bridge)
    listing, call_headers = (
        peer.requests[peer.methods.index(x)] for x in ("tools/list", "tools/call")
    )
    assert tuple(call_headers[x] for x in ("x-key", "user-agent", "host")) == tuple(own.values())
    modern = {"mcp-name", "mcp-method"} if era == "modern" else set[str]()
    assert listing.keys() | modern == call_headers.keys()
    assert ("mcp-session-id" in call_headers) == (era == "legacy")
    different = {x for x in listing if listing[x] != call_headers[x]}
    assert different == {"mcp-method", "content-length"} & call_headers.keys()


@pytest.mark.parametrize("user", ["me:pass-word-1", ":pass-word-1"])
def test_credentials_in_the_url_are_sent(caplog: pytest.LogCaptureFixture, user: str):
    """As a browser and curl send them; a sign-in takes no part. The SDK logs the URL."""
    caplog.set_level("DEBUG")
    with fault_http(era="modern") as peer:
        url = peer.url.replace("//", f"//{user}@")
        with bridge_with(it={"url": url}) as bridge:
            assert bridge.call_tool("it", "echo", {"text": "in"}).text == "in"
        assert {x.get("authorization") for x in peer.requests} == {
            f"Basic {b64encode(user.encode()).decode()}"
        }
    assert "pass-word-1" not in caplog.text


def test_credentials_in_the_url_are_sent_to_an_absolute_address_for_messages():
    with fault_http() as peer:
        endpoint = peer.sse_url + "/messages"
        peer.faults["GET"] = lambda handler, _: handler.open_stream(endpoint)
        url = peer.sse_url.replace("//", "//me:pass-word-1@")
        with bridge_with(it={"url": url}) as bridge:
            assert bridge.call_tool("it", "echo", {"text": "in"}).text == "in"
        assert "authorization" in peer.requests[-1]


def echoing(before: int, status: int, kind: str) -> Fault:
    """Answer with the secret in a header, after `before` other characters."""

    def echo(handler: Any, _: dict[str, Any]) -> None:
        text = "x" * before + handler.headers["authorization"] + "y" * 300
        handler.answer(status, text.encode(), kind)

    return echo


def test_an_echoed_secret_stays_masked_where_an_error_is_cut():
    with connected(headers={"Authorization": f"Bearer {TOKEN}"}) as (peer, bridge):
        for before in (0, 85, 99, 290):
            for status, kind in ((200, "text/plain"), (200, JSON), (500, "text/plain")):
                peer.faults["tools/call"] = echoing(before, status, kind)
                with pytest.raises(ServerError) as caught:
                    call(bridge)
                assert TOKEN[:6] not in str(caught.value)
                peer.faults.clear()
                assert call(bridge) == "fine"


def test_long_messages_of_a_server_are_cut():
    words = "w" * 60_000
    with connected() as (peer, bridge):
        for fault in (message(error={"code": -1, "message": words}), refuse(500, words)):
            peer.faults["tools/call"] = fault
            with pytest.raises(SourceError) as caught:
                call(bridge)
            assert len(str(caught.value)) < 1_600


@pytest.mark.parametrize("status", [401, 404])
def test_a_refusal_that_only_a_person_can_fix_is_not_tried_again(status: int):
    """A wrong token sent many times may lock an account. The header may have invalid bytes."""
    challenge = b'www-authenticate: Bearer realm="\xff\xfe"\r\n'
    refusal = raw(b"HTTP/1.1 %d No\r\n%scontent-length: 1\r\n\r\n\x80" % (status, challenge))
    with fault_http() as peer:
        peer.faults["*"] = refusal
        with bridge_with(it=peer.entry(type="http")) as bridge:
            with pytest.raises(SourceFailed, match=f"HTTP {status}") as caught:
                bridge.list_tools("it")
            assert type(caught.value) is SourceFailed, "the lab displays its name"
            wait_until(
                lambda: status_of(bridge, "it").state == "failed", "it is not tried again", 1
            )
            posted = [x for x in peer.methods if x in ("server/discover", "initialize")]
            assert len(posted) == 2, "the probe for the era, and the handshake"
            peer.faults.clear()
            assert call(bridge, "mended") == "mended"


def test_an_https_url_of_a_server_without_tls_is_reported():
    with fault_http() as peer, bridge_with(it={"url": f"https{peer.url[4:]}"}) as bridge:
        bridge.connect(wait=True)
        assert "write http:// instead of https://" in status_of(bridge, "it").next_step


def test_an_sse_server_that_cannot_be_used_is_explained():
    rows = (
        (refuse(403, "your trial is over"), "HTTP 403: your trial is over"),
        (refuse(200, "<html>", "text/html"), "text/html"),
        (refuse(200, "", "text/event-stream"), "ended before"),
        (drop, "cannot be reached"),
    )
    with fault_http() as peer:
        for fault, words in rows:
            peer.faults["GET"] = fault
            with bridge_with(it={"url": peer.sse_url}) as bridge:
                bridge.connect("it", wait=True)
                assert status_of(bridge, "it").error.startswith(peer.sse_url)
                assert words in status_of(bridge, "it").error


@pytest.mark.parametrize("fault", [refuse(500, "boom"), drop], ids=["refused", "dropped"])
def test_a_lost_message_to_an_sse_server_fails_its_call_at_once(fault: Fault):
    """The response would come on the other stream, and would never arrive."""
    with fault_http() as peer, bridge_with(it={"url": peer.sse_url}) as bridge:
        bridge.list_tools("it")
        peer.faults["tools/call"] = fault
        with ends_within(20), pytest.raises((ServerError, SourceClosed)):
            call(bridge)
        peer.faults.clear()
        assert call(bridge, "back") == "back"


def test_closing_does_not_wait_for_a_server_that_ignores_the_end_of_its_session():
    with ends_within(25), connected("legacy") as (peer, _):
        peer.faults["DELETE"] = Hang()
