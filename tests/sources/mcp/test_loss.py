"""Lost connections: noticed at once, explained, and opened again at the next use."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import mcp_servers
from tests.support.bridges import bridge_with, status_of, wait_for_loss, wait_for_state
from tests.support.fault_http import FaultHttp, fault_http
from tests.support.fault_server import entry
from tests.support.http_faults import Hang, call, drop, first
from tests.support.processes import free_port, is_running, listening_process, wait_until
from tests.support.watchdog import ends_within
from xai_mcp_agent import Bridge, SourceClosed, SourceFailed, ToolTimeout
from xai_mcp_agent.bridge.operations import Operations

NOTICED_SECONDS = 10.0


@pytest.mark.parametrize(
    "options", [{}, {"child": "heir"}], ids=["alone", "a child holds its stdout"]
)
def test_a_server_killed_between_calls_is_started_again_without_a_call(options: Any):
    with bridge_with(it=entry(**options)) as bridge:
        first = bridge.call_tool("it", "pid").text
        os.kill(int(first), signal.SIGKILL)
        wait_for_loss(bridge, "it", NOTICED_SECONDS)
        assert status_of(bridge, "it").state in ("retrying", "connecting")
        wait_for_state(bridge, "it", "ready")
        assert bridge.call_tool("it", "pid").text != first


Entry = Callable[[FaultHttp], dict[str, Any]]
HTTP_WAYS: dict[str, tuple[dict[str, Any], Entry]] = {
    "modern": ({"era": "modern"}, FaultHttp.entry),
    "legacy": ({"sessions": True, "standing": True}, FaultHttp.entry),
    "sse": ({}, lambda peer: {"url": peer.sse_url}),
}


@pytest.fixture(params=HTTP_WAYS)
def connection(request: pytest.FixtureRequest) -> Any:
    """A server over HTTP, and a bridge that is connected to it."""
    options, entry_of = HTTP_WAYS[request.param]
    with fault_http(**options) as peer, bridge_with(it=entry_of(peer)) as bridge:
        bridge.list_tools("it")
        wait_until(lambda: bool(peer.streams), "the standing stream is open")
        yield peer, bridge


def test_the_loss_of_a_server_behind_a_url_is_noticed_and_it_is_used_when_it_is_back(
    connection: tuple[FaultHttp, Bridge],
):
    peer, bridge = connection
    hang = peer.faults["tools/call"] = Hang()
    under_way = bridge.submit(Operations.call_tool, "it", "echo", {"text": "x"})
    assert hang.was_called.wait(20)
    peer.stop()
    with ends_within(20), pytest.raises(SourceClosed):
        under_way.result(30)
    wait_for_loss(bridge, "it", NOTICED_SECONDS)
    with pytest.raises(SourceFailed, match=r"cannot be reached: ConnectError") as caught:
        call(bridge)
    assert peer.url.removesuffix("/mcp") in str(caught.value)
    peer.faults.clear()
    peer.start()
    assert call(bridge, "back") == "back"
    for _ in range(2):
        peer.faults["tools/call"] = lambda handler, _: handler.owner.stop()

        def mend() -> None:
            peer.faults.clear()
            peer.start()

        assert call_after_a_loss(bridge, mend) == "again"


def call_after_a_loss(bridge: Bridge, mend: Callable[[], None] = bool) -> str:
    """Return the text of a call that is made as soon as another one is lost."""

    async def lose_one(operations: Operations) -> str:
        try:
            await operations.call_tool("it", "echo", {"text": "x"})
        except SourceClosed:
            mend()
            return (await operations.call_tool("it", "echo", {"text": "again"})).text
        raise AssertionError("the call was not lost")

    return bridge.run(lose_one)


def test_a_real_server_behind_a_url_may_be_killed_and_restarted_at_any_time():
    """In both eras the loss is noticed and explained, and the server is used when it is back."""
    port = free_port()
    gallery = [sys.executable, mcp_servers.__file__, "gallery", str(port)]
    url = f"http://127.0.0.1:{port}/mcp"
    with bridge_with(modern={"url": url}, legacy={"url": url, "mode": "legacy"}) as bridge:
        with listening_process(gallery, port) as child:
            first = {bridge.call_tool(x, "process").text for x in ("modern", "legacy")}
            under_way = bridge.submit(Operations.call_tool, "modern", "wait", {"label": "x"})
            wait_until(lambda: "x" in bridge.call_tool("legacy", "has_begun").text, "it has begun")
            child.kill()
            with pytest.raises(SourceClosed, match=r"broke off during the call of 'wait'|lost"):
                under_way.result(20)
            for server in ("modern", "legacy"):
                wait_for_loss(bridge, server, NOTICED_SECONDS)
        with listening_process(gallery, port):
            again = {bridge.call_tool(x, "process").text for x in ("modern", "legacy")}
        assert len(first) == len(again) == 1
        assert first != again


def test_a_broken_connection_fails_one_call_which_is_not_repeated_blindly():
    """The server may have carried out the call."""
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        hang = peer.faults["tools/call"] = Hang()
        other = bridge.submit(
            Operations.call_tool, "it", "echo", {"text": "other"}, timeout_seconds=9
        )
        assert hang.was_called.wait(20)
        peer.faults["tools/call"] = drop
        with pytest.raises(SourceClosed, match="broke off during the call of 'echo'") as caught:
            call(bridge)
        assert "It may have been carried out all the same" in caught.value.next_step
        assert not other.done(), "others on the connection go on"
        del peer.faults["tools/call"]
        assert call(bridge, "fine") == "fine"


def test_each_of_many_lost_calls_is_followed_by_a_probe_without_a_pause():
    """The pause between two probes grows up to a minute, but callers do not wait for it."""
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        with ends_within(20):
            for _ in range(8):
                peer.faults["tools/call"] = first(1, drop)
                assert call_after_a_loss(bridge) == "again"


def test_a_process_that_answers_a_ping_survives_calls_that_time_out(era: str):
    """Servers need not answer a cancelled call, and a restart would lose the process's state."""
    with bridge_with(it=entry(era=era)) as bridge:
        first = bridge.call_tool("it", "pid").text
        for _ in range(3):
            with pytest.raises(ToolTimeout):
                bridge.call_tool("it", "never", timeout_seconds=0.1)
        assert bridge.call_tool("it", "pid").text == first


def test_a_session_continues_if_a_ping_is_answered_even_if_listing_hangs():
    with fault_http(sessions=True) as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        peer.faults["tools/call"] = peer.faults["tools/list"] = Hang()
        for _ in range(2):
            with pytest.raises(ToolTimeout):
                call(bridge, "x", timeout_seconds=0.2)
        del peer.faults["tools/call"]
        assert call(bridge, "fine") == "fine"
        assert peer.peer.methods().count("initialize") == 1
        assert "ping" in peer.peer.methods()


def test_a_call_after_a_loss_waits_no_longer_than_its_own_limit():
    """It takes up to five seconds to find out whether the server still answers."""
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        peer.faults["tools/call"] = drop
        peer.faults["server/discover"] = Hang()  # the ping of this era
        with pytest.raises(SourceClosed):
            call(bridge)
        with pytest.raises(SourceFailed, match=r"it was not ready within 0\.3 s"):
            call(bridge, "x", timeout_seconds=0.3)


def test_disconnecting_ends_open_calls_and_the_next_use_connects_again():
    with bridge_with(it=entry()) as bridge:
        first = int(bridge.call_tool("it", "pid").text)
        waiting = bridge.submit(Operations.call_tool, "it", "never")
        bridge.disconnect("it")
        with pytest.raises(SourceClosed, match="it was closed here during the call of"):
            waiting.result(20)
        assert status_of(bridge, "it").state == "idle"
        assert not is_running(first)
        assert bridge.call_tool("it", "pid").text != str(first)
