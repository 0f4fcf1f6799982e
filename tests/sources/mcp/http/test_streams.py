"""Answers that come slowly, in pieces, too large, or only after the stream was opened again."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.bridges import bridge_with
from tests.support.fault_http import Fault, Hang, fault_http, first, refuse
from tests.support.http_faults import (
    ClosesIdle,
    Resumable,
    chattering,
    dripping,
    in_small_pieces,
    large_event,
    reset,
    silent_after,
    with_length,
)
from tests.support.processes import wait_until
from tests.support.watchdog import ends_within
from xai_mcp_agent import ServerError, SourceClosed, SourceError, ToolTimeout

ERAS = ["modern", "legacy"]

ENDLESS: dict[str, Fault] = {
    "no headers": Hang(),
    "no body": silent_after(b""),
    "half a body": silent_after(b'{"jsonrpc": "2.0"'),
    "dripping": dripping(0.05),
    "dripping stream": dripping(0.05, "text/event-stream"),
    "comments": chattering(),
    "half an event": silent_after(b"data: {", "text/event-stream"),
}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("fault", ENDLESS)
def test_a_call_ends_at_its_limit_however_its_answer_does_not_end(era: str, fault: str):
    with (
        fault_http(era=era, sessions=era == "legacy") as peer,
        bridge_with(it=peer.entry()) as bridge,
    ):
        bridge.list_tools("it")
        peer.faults["tools/call"] = ENDLESS[fault]
        with ends_within(20), pytest.raises(ToolTimeout):
            bridge.call_tool("it", "echo", {"text": "x"}, timeout_seconds=0.5)
        peer.faults.clear()
        assert bridge.call_tool("it", "echo", {"text": "fine"}).text == "fine"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "how", [in_small_pieces, dripping(0.0005), large_event(2)], ids=["chunks", "drops", "2 MiB"]
)
def test_an_answer_that_comes_whole_in_the_end_is_taken(era: str, how: Fault):
    with fault_http(era=era) as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        peer.faults["tools/call"] = how
        assert bridge.call_tool("it", "echo", {"text": "whole"}).text[:5] in ("whole", "xxxxx")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("sse", [False, True])
def test_a_large_answer_arrives_as_it_was_sent(era: str, sse: bool):
    """The SDK would end the connection of the older kind for more than one MiB."""
    with (
        fault_http(era=era) as peer,
        bridge_with(it={"url": peer.sse_url if sse else peer.url}) as bridge,
    ):
        text = '"quoted" and \\ and \u4e2d\n' * 60_000
        result = {"content": [{"type": "text", "text": text}], "structuredContent": [[text]]}
        answer = bridge.call_tool("it", "result", result)
        assert (answer.text, answer.structured) == (text, [[text]])
        peer.peer.tools.append({"name": "t" * 2_000_000, "inputSchema": {"type": "object"}})
        assert len(bridge.refresh("it")[0].require()[-1].name) == 2_000_000


@pytest.mark.parametrize("data", [b'{"jsonrpc": "2.0", "id": 1, "result"', b'["jsonrpc"', b'"'])
def test_a_large_answer_that_is_no_message_fails_its_call(data: bytes):
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        said = data + b" " * 2_000_000
        peer.faults["tools/call"] = refuse(200, said.decode(), "application/json")
        with pytest.raises(ServerError, match="unusable response: it is not a valid message"):
            bridge.call_tool("it", "echo", {"text": "x"})
        event = f"data: {said.decode()}\n\n"
        peer.faults["tools/call"] = refuse(200, event, "text/event-stream")
        with pytest.raises(ServerError, match="unusable response: it is not a valid message"):
            bridge.call_tool("it", "echo", {"text": "x"})


@pytest.mark.parametrize(("more", "kind"), [(5, SourceClosed), (-5, ServerError)])
def test_a_length_that_is_wrong_costs_one_call(more: int, kind: type[Exception]):
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        peer.faults["tools/call"] = first(1, with_length(more))
        with pytest.raises(kind):
            bridge.call_tool("it", "echo", {"text": "x"})
        assert bridge.call_tool("it", "echo", {"text": "fine"}).text == "fine"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("breaks", [1, 3])
def test_a_stream_that_broke_off_goes_on_after_the_last_event(era: str, breaks: int):
    """MCP 2025-11-25, transports, resumability: a GET with `Last-Event-ID`, after `retry`."""
    with (
        fault_http(era=era, sessions=era == "legacy") as peer,
        bridge_with(it=peer.entry()) as bridge,
    ):
        bridge.list_tools("it")
        stream = Resumable(peer, breaks)
        assert bridge.call_tool("it", "echo", {"text": "whole"}).text == "whole"
        assert stream.resumed == [str(x) for x in range(breaks)]
        assert peer.methods.count("tools/call") == 1


def test_a_stream_that_breaks_off_for_ever_ends_with_its_call_and_does_not_spin():
    with fault_http(era="legacy") as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        stream = Resumable(peer, breaks=1_000_000, retry_ms=0)
        with pytest.raises(SourceError):
            bridge.call_tool("it", "echo", {"text": "x"}, timeout_seconds=2)
        assert len(stream.resumed) <= 20
        seen = len(stream.resumed)
        peer.faults.clear()
        assert bridge.call_tool("it", "echo", {"text": "fine"}).text == "fine"
        assert len(stream.resumed) <= seen + 1, "nobody goes on for a call that is over"


@pytest.mark.parametrize("how", [ClosesIdle(), reset], ids=["closed", "reset"])
def test_a_connection_that_ends_just_when_it_is_used_costs_no_call_that_may_go_twice(how: Fault):
    tools: list[Any] = [
        {"name": "read", "inputSchema": {}, "annotations": {"readOnlyHint": True}},
        {"name": "plain", "inputSchema": {}},
    ]
    with fault_http(era="modern", tools=tools) as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.call_tool("it", "read")
        peer.faults["tools/call"] = how if isinstance(how, ClosesIdle) else first(1, how)
        for _ in range(4):
            assert bridge.call_tool("it", "read").text == "this is read"


def test_a_hundred_calls_at_once_over_one_server_are_all_answered():
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        hang = peer.faults["tools/call"] = Hang()
        peer.faults["tools/call"] = first(1, hang)

        def call(number: int) -> str:
            return bridge.call_tool("it", "echo", {"text": f"{number}"}).text

        with ThreadPoolExecutor(101) as threads:
            slow = threads.submit(
                bridge.call_tool, "it", "echo", {"text": "slow"}, timeout_seconds=30
            )
            assert hang.asked.wait(10)
            answers = list(threads.map(call, range(100)))
            assert answers == [f"{x}" for x in range(100)]
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
                    assert bridge.call_tool("it", "echo", {"text": "fine"}).text == "fine"
                    calls += 1
                    again.wait(_BETWEEN_CALLS_SECONDS)
                    again.clear()
        between = [b - a for a, b in itertools.pairwise(opened)]
        assert min(between) > _CALLS_IN_A_PAUSE


def test_a_stream_for_notices_that_is_refused_for_a_while_is_opened_in_the_end():
    with fault_http(sessions=True, standing=True) as peer:
        peer.faults["GET"] = first(1, refuse(500))
        with bridge_with(it=peer.entry()) as bridge:
            bridge.list_tools("it")
            wait_until(lambda: len(peer.streams) == 1, "the stream is open")
