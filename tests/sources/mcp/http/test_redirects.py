"""Redirects are followed within one origin; credentials never go to another."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.bridges import bridge_with
from tests.support.fault_http import FaultHttp, fault_http, refuse
from xai_mcp_agent import Bridge, ServerError, SourceFailed

TOKEN = "tok-0123456789abcdef"
SECRETS = {"Authorization": f"Bearer {TOKEN}", "X-Key": TOKEN, "Cookie": f"s={TOKEN}"}


def moved_to(place: str, status: int = 307) -> Any:
    """Send every request to `place` that was not sent there yet."""

    def answer(handler: Any, message: dict[str, Any]) -> None:
        if handler.path == place:
            handler.answer_well(message)
        else:
            handler.answer(status, location=place)

    return answer


def failure_of(bridge: Bridge) -> SourceFailed:
    """Why it cannot be used."""
    with pytest.raises(SourceFailed) as caught:
        bridge.list_tools("it")
    return caught.value


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_within_the_server_is_followed_with_all_that_was_sent(era: str, status: int):
    with fault_http(era=era) as peer:
        peer.faults["*"] = moved_to("/mcp/", status)
        with bridge_with(it=peer.entry(headers=SECRETS)) as bridge:
            assert bridge.call_tool("it", "echo", {"text": "there"}).text == "there"
        assert {x["authorization"] for x in peer.requests} == {f"Bearer {TOKEN}"}


def test_a_stream_of_the_older_kind_is_followed_too():
    with fault_http() as peer:
        peer.faults["GET"] = lambda handler, _: (
            handler.answer(302, location="/sse")
            if handler.path != "/sse"
            else handler.open_stream()
        )
        with bridge_with(it={"url": peer.url, "type": "sse"}) as bridge:
            assert bridge.call_tool("it", "echo", {"text": "there"}).text == "there"


@pytest.mark.parametrize("sse", [False, True])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_another_server_gets_nothing_at_all(status: int, sse: bool):
    with fault_http() as peer, fault_http() as other:
        seen: list[Any] = []
        other.faults["*"] = other.faults["GET"] = lambda handler, _: seen.append(handler.headers)
        place = f"{other.url}?key=1#part"
        peer.faults["*"] = peer.faults["GET"] = refuse(status, location=place)
        url = peer.sse_url if sse else peer.url
        with bridge_with(it={"url": url, "headers": SECRETS}) as bridge:
            error = failure_of(bridge)
        assert f"HTTP {status}" in error.problem
        assert "edirect" in error.problem
        assert f"to {other.url}" in error.problem
        assert error.next_step == "Write the address where the server really is as `url`."
        assert seen == []
        assert TOKEN not in str(error)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("http://elsewhere.invalid/", "Redirect to http://elsewhere.invalid/ not followed"),
        ("//elsewhere.invalid/mcp", "Redirect to http://elsewhere.invalid/mcp not followed"),
        ("http://user:word@HOST/x", "Redirect to http://HOST/x not followed"),
        ("file:///etc/passwd", "Redirect to file://127.0.0.1/etc/passwd not followed"),
        ("http://[", "Redirect to http://%5b not followed"),
        ("", "HTTP 307"),
    ],
)
def test_an_odd_place_is_named_and_not_gone_to(place: str, words: str):
    with fault_http() as peer:
        host = peer.url.split("/")[2]
        peer.faults["*"] = refuse(307, location=place.replace("HOST", host))
        with bridge_with(it=peer.entry()) as bridge:
            assert words.replace("HOST", host) in failure_of(bridge).problem


def test_a_redirect_that_would_lose_the_request_is_reported():
    """302 turns a POST into a GET without a body (RFC 9110)."""
    with fault_http() as peer:
        peer.faults["*"] = refuse(302, location="/other")
        with bridge_with(it=peer.entry()) as bridge:
            assert f"Redirect to http://{peer.url.split('/')[2]}/other not followed" in (
                failure_of(bridge).problem
            )


def in_a_circle(peer: FaultHttp) -> Any:
    """Send every request on to the next place, for ever."""

    def answer(handler: Any, _: dict[str, Any]) -> None:
        number = int(handler.path.rpartition("/")[2] or 0) if "/n/" in handler.path else 0
        handler.answer(307, location=f"/n/{number + 1}")

    return answer


def test_a_circle_of_redirects_ends_soon_and_the_connection_stays():
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        peer.faults["tools/call"] = in_a_circle(peer)
        with pytest.raises(ServerError, match=r"Redirect to http.* not followed"):
            bridge.call_tool("it", "echo", {"text": "x"})
        assert peer.methods.count("tools/call") == 21
        peer.faults.clear()
        assert bridge.call_tool("it", "echo", {"text": "fine"}).text == "fine"


def test_each_call_may_be_redirected_anew():
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        peer.faults["tools/call"] = moved_to("/mcp/")
        for number in range(15):
            assert bridge.call_tool("it", "echo", {"text": f"{number}"}).text == f"{number}"


def test_a_cookie_goes_back_to_the_server_that_set_it_and_to_nobody_else():
    """A balancer before several servers may need it to find ours again."""
    with fault_http(era="modern") as one, fault_http(era="modern") as two:

        def with_cookie(handler: Any, message: dict[str, Any]) -> None:
            (answer,) = one.peer.handle(message)
            handler.answer(
                200, json.dumps(answer).encode(), "application/json", set_cookie="node=7; Path=/"
            )

        one.faults["server/discover"] = with_cookie
        with bridge_with(one=one.entry(), two=two.entry()) as bridge:
            bridge.call_tool("one", "echo", {"text": "x"})
            bridge.call_tool("two", "echo", {"text": "x"})
        assert one.requests[-1]["cookie"] == "node=7"
        assert not any("cookie" in x for x in two.requests)
