"""Answers that are no MCP messages: each is told for what it is, and costs only its own call."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest

from tests.support.bridges import bridge_with
from tests.support.fault_http import Fault, fault_http, refuse
from tests.support.http_faults import on_a_stream
from xai_mcp_agent import ServerError

ERAS = ["modern", "legacy"]
TOKEN = "tok-0123456789abcdef"
JSON = "application/json"
LOGIN = "<!DOCTYPE html>\n<html><head><title>Sign in\n &amp; go on</title></head></html>"


def body(data: bytes, kind: str = JSON, status: int = 200, **headers: str) -> Fault:
    """Answer with these bytes."""
    return lambda handler, _: handler.answer(status, data, kind, **headers)


def message(**parts: Any) -> Fault:
    """Answer with a message of these parts; the id is the request's unless it is given."""

    def answer(handler: Any, asked: dict[str, Any]) -> None:
        said = {"jsonrpc": "2.0", "id": asked["id"], **parts}
        handler.answer(200, json.dumps(said).encode(), JSON)

    return answer


def encoded(encoding: str) -> Fault:
    """A right answer in a wrong encoding."""

    def answer(handler: Any, asked: dict[str, Any]) -> None:
        said = {"jsonrpc": "2.0", "id": asked["id"], "result": {"content": "\u00e9"}}
        handler.answer(200, json.dumps(said, ensure_ascii=False).encode(encoding), JSON)

    return answer


RESULT = {"content": [{"type": "text", "text": "fine"}]}
UNUSABLE: dict[str, tuple[Fault, str]] = {
    "page": (
        body(LOGIN.encode(), "text/html"),
        "HTTP 200 with text/html instead of JSON: Sign in & go on.",
    ),
    "page as JSON": (body(LOGIN.encode()), "it is not valid JSON: Sign in & go on."),
    "empty": (body(b""), "it is empty."),
    "blank": (body(b" \r\n"), "it is empty."),
    "no content": (body(b"", "", 204), "HTTP 204 with no content type instead of JSON."),
    "accepted": (body(b"", "", 202), "HTTP 202 with no content type instead of JSON."),
    "text": (body(b"hello", "text/plain"), "with text/plain instead of JSON: hello."),
    "untyped": (body(b"{}", ""), "with no content type instead of JSON: {}."),
    "picture": (body(b"\x89PNG\0", "image/png"), "with image/png instead of JSON"),
    "cut": (body(b'{"jsonrpc": "2.0", "id": 1'), 'it is not valid JSON: {"jsonrpc"'),
    "number": (body(b"7"), "it is not a JSON-RPC response: 7."),
    "other JSON": (body(b'{"ok": true}'), 'it is not a JSON-RPC response: {"ok": true}.'),
    "no version": (message(jsonrpc="1.0", result={}), "it is not a valid message"),
    "neither": (message(), "it is not a JSON-RPC response"),
    "batch": (body(b"[]"), "it is not a JSON-RPC response: []."),
    "deep": (body(b"[" * 100_000), "it is not a valid message."),
    "notice": (
        body(b'{"jsonrpc": "2.0", "method": "notifications/message"}'),
        "it is not a JSON-RPC response",
    ),
    "question": (message(method="ping"), "it is not a JSON-RPC response"),
    "UTF-16": (encoded("utf-16"), "it is not valid JSON"),
    "UTF-32": (encoded("utf-32-le"), "it is not valid JSON"),
    "Latin-1": (encoded("latin-1"), "it is not valid JSON"),
    "not packed": (body(b"{}", content_encoding="gzip"), "it cannot be unpacked."),
    "half packed": (body(zlib.compress(b"x" * 9999)[:9], content_encoding="deflate"), "it is"),
    "packed as nobody asked": (body(b"\x0b\x02", content_encoding="br"), "it is not valid JSON"),
    "unknown type": (
        message(result={**RESULT, "resultType": "riddle"}),
        "the result type 'riddle' is unknown.",
    ),
    "type that is a number": (message(result={"resultType": 7}), "the result type 7 is unknown"),
    "stream of nothing": (body(b"data: x\n\n", "text/event-stream"), "not a valid message."),
}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("fault", UNUSABLE)
def test_an_answer_that_is_no_message_is_reported_for_what_it_is(era: str, fault: str):
    how, words = UNUSABLE[fault]
    with (
        fault_http(era=era, sessions=era == "legacy") as peer,
        bridge_with(it=peer.entry()) as bridge,
    ):
        bridge.list_tools("it")
        peer.faults["tools/call"] = how
        with pytest.raises(ServerError) as caught:
            bridge.call_tool("it", "echo", {"text": "x"}, timeout_seconds=20)
        assert "the call of 'echo' returned an unusable response: " in caught.value.problem
        assert words in caught.value.problem
        assert "its other tools are not affected" in caught.value.next_step
        peer.faults.clear()
        assert bridge.call_tool("it", "echo", {"text": "fine"}).text == "fine"
        assert peer.methods.count("initialize") <= 1, "the connection stayed"


def marked(handler: Any, asked: dict[str, Any]) -> None:
    """A right answer after a byte order mark."""
    said = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": RESULT}).encode()
    handler.answer(200, b"\xef\xbb\xbf" + said, JSON)


def as_text(handler: Any, asked: dict[str, Any]) -> None:
    """A right answer whose id has become text."""
    message(id=str(asked["id"]), result=RESULT)(handler, asked)


def as_text_on_a_stream(handler: Any, asked: dict[str, Any]) -> None:
    """The same, as an event."""
    on_a_stream(as_text)(handler, asked)


def with_another_id(handler: Any, asked: dict[str, Any]) -> None:
    """A right answer to a request that nobody made: what answers a POST answers its request."""
    message(id=999_999, result=RESULT)(handler, asked)


def with_another_id_on_a_stream(handler: Any, asked: dict[str, Any]) -> None:
    """The same, as an event."""
    on_a_stream(with_another_id)(handler, asked)


def as_utf8(handler: Any, asked: dict[str, Any]) -> None:
    """A right answer that names its character set in the wrong header."""
    said = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": RESULT}).encode()
    handler.answer(200, said, JSON, content_encoding="utf-8")


UNDERSTOOD: list[Fault] = [
    marked, as_text, as_text_on_a_stream, as_utf8, with_another_id, with_another_id_on_a_stream,
]  # fmt: skip


@pytest.mark.parametrize("how", UNDERSTOOD, ids=lambda x: x.__name__)
def test_an_answer_that_can_be_understood_is_taken(how: Fault):
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        peer.faults["tools/call"] = how
        assert bridge.call_tool("it", "echo", {"text": "x"}).text == "fine"


def test_an_error_without_an_id_is_for_the_request_it_answers():
    """JSON-RPC 2.0: where the server could not read the id."""
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        peer.faults["tools/call"] = message(id=None, error={"code": -32000, "message": "no luck"})
        with pytest.raises(ServerError, match="was refused: no luck"):
            bridge.call_tool("it", "echo", {"text": "x"})


@pytest.mark.parametrize("before", [0, 60, 85, 99, 280, 290, 299])
@pytest.mark.parametrize("kind", ["text/plain", JSON])
@pytest.mark.parametrize("status", [200, 500])
def test_a_secret_that_is_echoed_stays_hidden_where_a_text_is_cut(
    before: int, kind: str, status: int
):
    def echo_back(handler: Any, _: dict[str, Any]) -> None:
        said = "x" * before + handler.headers["authorization"] + "y" * 300
        handler.answer(status, said.encode(), kind)

    with fault_http(era="modern") as peer:
        entry = peer.entry(headers={"Authorization": f"Bearer {TOKEN}"})
        with bridge_with(it=entry) as bridge:
            bridge.list_tools("it")
            peer.faults["tools/call"] = echo_back
            with pytest.raises(ServerError) as caught:
                bridge.call_tool("it", "echo", {"text": "x"})
            assert TOKEN[:6] not in str(caught.value)


def test_a_refused_stream_of_the_older_kind_tells_the_servers_words():
    with fault_http() as peer, bridge_with(it={"url": peer.sse_url}) as bridge:
        peer.faults["GET"] = refuse(403, "your trial is over")
        bridge.connect("it", wait=True)
        assert "HTTP 403: your trial is over" in bridge.servers()[0].error
