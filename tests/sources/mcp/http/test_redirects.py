"""Redirects are followed within one origin; credentials never go to another."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.bridges import bridge_with, failure_of
from tests.support.fault_http import fault_http
from tests.support.http_faults import call, refuse, right_answer

TOKEN = "tok-0123456789abcdef"
SECRETS = {"Authorization": f"Bearer {TOKEN}", "X-Key": TOKEN, "Cookie": f"s={TOKEN}"}


def redirect_to(place: str, status: int = 307) -> Any:
    """Redirect every request for another path to `place`."""

    def answer(handler: Any, message: dict[str, Any]) -> None:
        if handler.path == place:
            handler.answer_well(message) if message else handler.open_stream()
        else:
            handler.answer(status, location=place)

    return answer


@pytest.mark.parametrize(("era", "status"), [("modern", 307), ("legacy", 308)])
def test_a_redirect_within_the_server_is_followed_with_all_headers(era: str, status: int):
    with fault_http(era=era) as peer:
        peer.faults["*"] = redirect_to("/mcp/", status)
        with bridge_with(it=peer.entry(headers=SECRETS)) as bridge:
            for number in range(3):  # each call anew
                assert call(bridge, f"{number}") == f"{number}"
        assert {x["authorization"] for x in peer.requests} == {f"Bearer {TOKEN}"}


def test_a_redirect_of_an_sse_stream_is_followed_too():
    with fault_http() as peer, bridge_with(it={"url": peer.url, "type": "sse"}) as bridge:
        peer.faults["GET"] = redirect_to("/sse", 302)
        assert call(bridge, "there") == "there"


@pytest.mark.parametrize(("status", "sse"), [(302, False), (307, False), (308, False), (307, True)])
def test_a_redirect_to_another_server_sends_it_nothing(status: int, sse: bool):
    with fault_http() as peer, fault_http() as other:
        headers: list[Any] = []
        other.faults["*"] = other.faults["GET"] = lambda handler, _: headers.append(handler.headers)
        refusal = refuse(status, location=f"{other.url}?key=1#part")
        peer.faults["*"] = peer.faults["GET"] = refusal
        url = peer.sse_url if sse else peer.url
        with bridge_with(it={"url": url, "headers": SECRETS}) as bridge:
            error = failure_of(bridge)
        assert f"HTTP {status}" in error.problem
        assert "edirect" in error.problem
        assert f"to {other.url}" in error.problem
        assert error.next_step == "Write the address where the server really is as `url`."
        assert headers == []
        assert TOKEN not in str(error)


def test_a_redirect_to_an_odd_address_is_reported_and_not_followed():
    """302 turns a POST into a GET without a body (RFC 9110)."""
    rows = (
        (307, "//elsewhere.invalid/mcp", "http://elsewhere.invalid/mcp"),
        (307, "http://user:word@HOST/x", "http://HOST/x"),
        (307, "file:///etc/passwd", "file://127.0.0.1/etc/passwd"),
        (307, "http://[", "http://%5b"),
        (302, "/other", "http://HOST/other"),
    )
    with fault_http() as peer:
        host = peer.url.split("/")[2]
        for status, place, words in rows:
            peer.faults["*"] = refuse(status, location=place.replace("HOST", host))
            with bridge_with(it=peer.entry()) as bridge:
                problem = failure_of(bridge).problem
                assert f"Redirect to {words.replace('HOST', host)} not followed" in problem


def test_a_cookie_is_sent_only_to_the_server_that_set_it(era: str):
    """A load balancer may need it to find the same server again."""

    def with_cookie(handler: Any, message: dict[str, Any]) -> None:
        data = right_answer(handler.owner, message)
        handler.answer(200, data, "application/json", set_cookie="node=7; Path=/")

    with fault_http(era=era) as one, fault_http(era=era) as two:
        one.faults["tools/call"] = with_cookie
        with bridge_with(it=one.entry(), two=two.entry()) as bridge:
            for _ in range(2):
                call(bridge)
            bridge.call_tool("two", "echo", {"text": "x"})
        cookies = [x.get("cookie") for x, m in zip(one.requests, one.methods, strict=True)
                   if m == "tools/call"]  # fmt: skip
        assert cookies == [None, "node=7"]
        assert not any("cookie" in x for x in two.requests)
