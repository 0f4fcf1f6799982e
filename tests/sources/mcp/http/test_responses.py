"""Servers behind a URL that answer badly: named with their URL, status and the next step."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from tests.support.bridges import bridge_with, status_of, wait_for_state
from tests.support.fault_http import (
    Fault,
    FaultHttp,
    Hang,
    cut_short,
    cut_stream,
    drop,
    fault_http,
    refuse,
)
from tests.support.fault_server import entry
from tests.support.processes import free_port, wait_until
from tests.support.watchdog import ends_within
from xai_mcp_agent import Bridge, ServerError, SourceClosed, SourceFailed, ToolTimeout

TOKEN = "tok-0123456789abcdef"
ERAS = ["modern", "legacy"]
RPC_ERROR = json.dumps(
    {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "licence expired"}}
)


def failure_of(bridge: Bridge, server: str) -> SourceFailed:
    """Why it cannot be used."""
    with pytest.raises(SourceFailed) as caught:
        bridge.list_tools(server)
    return caught.value


AT_START: dict[str, tuple[Fault, str, str]] = {
    "401": (refuse(401, "no token"), "HTTP 401: no token", "`Authorization` header"),
    "401 in JSON": (
        refuse(401, '{"error": "invalid_token"}', "application/json"),
        'HTTP 401: {"error": "invalid_token"}',
        "`Authorization` header",
    ),
    "403": (refuse(403), "HTTP 403", "check the token"),
    "404": (refuse(404, "nothing here"), "HTTP 404: nothing here", "(often /mcp or /sse)"),
    "405": (refuse(405), "HTTP 405", "also not of the older kind (SSE)"),
    "429": (refuse(429, "slow down"), "HTTP 429: slow down", "wait a while"),
    "500": (refuse(500, "boom"), "HTTP 500: boom", "is an MCP endpoint"),
    "500 page": (
        refuse(500, "<html>oops</html>", "text/html"),
        "HTTP 500: oops",
        "is an MCP endpoint",
    ),
    "JSON-RPC": (refuse(400, RPC_ERROR, "application/json"), "licence expired", "MCP endpoint"),
    "HTML page": (
        refuse(200, "<html>hello</html>", "text/html"),
        "answered: HTTP 200 with text/html instead of JSON: hello.",
        "(often it ends in /mcp or /sse)",
    ),
    "nothing": (
        refuse(200, "", "application/json"),
        "answered: it is empty.",
        "is an MCP endpoint",
    ),
    "other JSON": (
        refuse(200, "[1]", "application/json"),
        "answered: it is not a JSON-RPC response: [1].",
        "is an MCP endpoint",
    ),
    "redirect": (
        refuse(307, location="https://elsewhere.invalid/mcp"),
        "HTTP 307: Redirect to https://elsewhere.invalid/mcp not followed",
        "where the server really is",
    ),
    "redirect loop": (refuse(307, location="/mcp"), "not followed", "really is"),
    "dropped": (drop, "cannot be reached: RemoteProtocolError", "Check that the server runs"),
}


@pytest.mark.parametrize("fault", AT_START)
def test_a_server_that_cannot_be_used_is_named_with_its_answer_and_what_to_do(fault: str):
    how, answer, step = AT_START[fault]
    with fault_http() as peer:
        peer.faults["*"] = how
        with bridge_with(it=peer.entry(), good=entry()) as bridge:
            error = failure_of(bridge, "it")
            assert error.problem.startswith(peer.url)
            assert answer in error.problem
            assert step in error.next_step
            status = status_of(bridge, "it")
            assert (status.error, status.next_step) == (error.problem, error.next_step)
            assert bridge.call_tool("good", "echo", {"text": "calm"}).text == "calm"


@pytest.mark.parametrize("status", [401, 403, 404, 405])
def test_a_refusal_that_only_a_person_can_change_is_not_tried_again_and_again(status: int):
    """A wrong token sent many times may lock an account."""
    with fault_http() as peer:
        peer.faults["*"] = refuse(status)
        with bridge_with(it=peer.entry()) as bridge:
            assert type(failure_of(bridge, "it")) is SourceFailed, "its name is shown in a lab"
            wait_for_state(bridge, "it", "failed", seconds=1)
            assert len(peer.requests) == 2, "the probe for the era, and the handshake"
            peer.faults.clear()
            assert bridge.call_tool("it", "echo", {"text": "mended"}).text == "mended"


def test_a_port_where_nobody_listens_is_reported():
    url = f"http://127.0.0.1:{free_port()}/mcp"
    with bridge_with(it={"url": url}) as bridge:
        error = failure_of(bridge, "it")
    assert error.problem.startswith(f"{url} cannot be reached: ConnectError")
    assert error.next_step == "Check that the server runs and that `url` is right."


def test_https_to_a_server_without_it_is_reported():
    with fault_http() as peer:
        url = peer.url.replace("http://", "https://")
        with bridge_with(it={"url": url}) as bridge:
            assert "write http:// instead of https://" in failure_of(bridge, "it").next_step


def test_a_server_that_never_answers_is_given_up_after_its_own_limit():
    with fault_http() as peer:
        peer.faults["*"] = Hang()
        with bridge_with(it=peer.entry(startTimeout=0.3)) as bridge:
            with ends_within(20):
                error = failure_of(bridge, "it")
            assert "after 0.3 s, while shaking hands" in error.problem


def test_a_server_that_is_just_starting_is_reached_when_it_is_there():
    with fault_http() as peer:
        peer.faults["*"] = refuse(503, "starting")
        with bridge_with(it=peer.entry()) as bridge:
            assert "HTTP 503: starting" in failure_of(bridge, "it").problem
            peer.faults.clear()
            assert bridge.call_tool("it", "echo", {"text": "up"}).text == "up"


DURING_A_CALL: dict[str, tuple[Fault, type[Exception], str]] = {
    "401": (refuse(401, "expired"), ServerError, "refused: HTTP 401: expired (code -32603)"),
    "500": (refuse(500, "boom"), ServerError, "refused: HTTP 500: boom"),
    "500 in JSON": (
        refuse(500, '{"detail": "boom"}', "application/json"),
        ServerError,
        'refused: HTTP 500: {"detail": "boom"}',
    ),
    "JSON-RPC": (
        refuse(400, RPC_ERROR, "application/json"),
        ServerError,
        r"refused: licence expired (code -32000)",
    ),
    "429": (refuse(429), ServerError, "HTTP 429"),
    "HTML page": (
        refuse(200, "<html>", "text/html"),
        ServerError,
        "unusable response: HTTP 200 with text/html",
    ),
    "not JSON": (refuse(200, "{", "application/json"), ServerError, "it is not valid JSON: {."),
    "accepted": (refuse(202), ServerError, "HTTP 202 with"),
    "dropped": (drop, SourceClosed, "broke off during the call of 'echo': RemoteProtocolError"),
    "cut short": (cut_short, SourceClosed, "broke off during the call of 'echo'"),
    "cut stream": (cut_stream, SourceClosed, "broke off during the call of 'echo': SSE stream"),
}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("fault", DURING_A_CALL)
def test_a_call_that_is_answered_badly_fails_alone(era: str, fault: str):
    how, kind, words = DURING_A_CALL[fault]
    with (
        fault_http(era=era, sessions=era == "legacy") as peer,
        bridge_with(it=peer.entry()) as bridge,
    ):
        bridge.list_tools("it")
        waiting = Hang()
        peer.faults["resources/read"] = waiting
        peer.faults["tools/call"] = how
        with pytest.raises(kind) as caught:
            bridge.call_tool("it", "echo", {"text": "x"})
        assert words in str(caught.value)
        del peer.faults["tools/call"]
        assert bridge.call_tool("it", "echo", {"text": "fine"}).text == "fine"
        assert peer.peer.seen_methods().count("initialize") <= 1, "the connection stayed"


@pytest.mark.parametrize("era", ERAS)
def test_a_call_that_is_not_answered_ends_at_its_limit_and_the_connection_stays(era: str):
    with fault_http(era=era) as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        hang = peer.faults["tools/call"] = Hang()
        with pytest.raises(ToolTimeout):
            bridge.call_tool("it", "echo", {"text": "x"}, timeout_seconds=0.2)
        if era == "modern":
            assert hang.gone.wait(20), "closing the request is how the server is told"
        else:
            wait_until(lambda: "notifications/cancelled" in peer.peer.seen_methods(), "it is told")
        del peer.faults["tools/call"]
        assert bridge.call_tool("it", "echo", {"text": "fine"}).text == "fine"


def test_a_packed_answer_is_unpacked():
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")

        def packed(handler: Any, message: dict[str, Any]) -> None:
            (answer,) = peer.peer.handle(message)
            body = gzip.compress(json.dumps(answer).encode())
            handler.answer(200, body, "application/json", content_encoding="gzip")

        peer.faults["tools/call"] = packed
        assert bridge.call_tool("it", "echo", {"text": "small"}).text == "small"


def test_a_large_answer_on_a_stream_arrives_whole():
    """Servers of the SDK answer so in the handshake era; its own limit is one MiB."""
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")

        def on_stream(handler: Any, message: dict[str, Any]) -> None:
            (answer,) = peer.peer.handle(message)
            event = b"event: message\ndata: %s\n\n" % json.dumps(answer).encode()
            handler.answer(200, event, "text/event-stream")

        peer.faults["tools/call"] = on_stream
        result = bridge.call_tool("it", "big", {"characters": 5_000_000})
        assert len(result.text) == 5_000_000


@pytest.mark.parametrize("server", ["http", "http_old"])
def test_headers_of_the_settings_are_sent_with_every_request(galleries: Bridge, server: str):
    assert galleries.call_tool(server, "header", {"name": "x-team"}).text == "'blue'"


@pytest.mark.parametrize("sse", [False, True])
def test_a_secret_header_is_sent_and_is_in_no_error(sse: bool):
    def echo_back(handler: Any, _: dict[str, Any]) -> None:
        handler.answer(403, f"bad: {handler.headers['authorization']}".encode(), "text/plain")

    with fault_http(era="modern") as peer:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        url = peer.sse_url if sse else peer.url
        peer.faults["*"] = peer.faults["GET"] = echo_back
        with bridge_with(it={"url": f"{url}?api_key={TOKEN}", "headers": headers}) as bridge:
            error = failure_of(bridge, "it")
            assert "HTTP 403" in error.problem
            for text in (str(error), repr(error), repr(bridge.servers()), repr(bridge.settings)):
                assert TOKEN not in text
        peer.faults.clear()
        with bridge_with(it={"url": url, "headers": headers}) as bridge:
            bridge.list_tools("it")
        assert {x["authorization"] for x in peer.requests} == {f"Bearer {TOKEN}"}


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (refuse(404, "no"), "HTTP 404"),
        (refuse(401), "HTTP 401"),
        (refuse(200, "<html>", "text/html"), "text/html"),
        (refuse(200, "", "text/event-stream"), "ended before"),
        (drop, "cannot be reached"),
    ],
)
def test_an_sse_server_that_cannot_be_used_is_explained(fault: Fault, words: str):
    with fault_http() as peer:
        peer.faults["GET"] = fault
        with bridge_with(it={"url": peer.sse_url}) as bridge:
            error = failure_of(bridge, "it")
            assert error.problem.startswith(peer.sse_url)
            assert words in error.problem


@pytest.mark.parametrize("fault", [refuse(500, "boom"), drop], ids=["refused", "dropped"])
def test_a_refused_message_to_an_sse_server_fails_its_call_at_once(fault: Fault):
    """The answer would come on the other stream, so nobody would ever answer."""
    with fault_http() as peer, bridge_with(it={"url": peer.sse_url}) as bridge:
        bridge.list_tools("it")
        peer.faults["tools/call"] = fault
        with ends_within(20), pytest.raises((ServerError, SourceClosed)):
            bridge.call_tool("it", "echo", {"text": "x"})
        peer.faults.clear()
        assert bridge.call_tool("it", "echo", {"text": "back"}).text == "back"


_MANY = 60  # calls: without pauses there would be about as many listings


def test_a_server_that_ends_its_stream_again_and_again_is_not_asked_all_the_time():
    with fault_http(sessions=True, standing=True) as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        peer.faults["GET"] = refuse(200, "", "text/event-stream")
        asked = len(_listings(peer))
        peer.end_streams()
        for _ in range(_MANY):
            assert bridge.call_tool("it", "echo", {"text": "fine"}).text == "fine"
        assert len(_listings(peer)) - asked <= _MANY / 6


def _listings(peer: FaultHttp) -> list[str]:
    return [x for x in peer.peer.seen_methods() if x == "tools/list"]


def test_a_server_that_does_not_answer_the_goodbye_keeps_nobody_waiting():
    with fault_http(sessions=True) as peer:
        peer.faults["DELETE"] = Hang()
        with ends_within(25), bridge_with(it=peer.entry()) as bridge:
            bridge.list_tools("it")
