"""Sessions of remote clients: of the older era where needed, their own where settings say so."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from tests.support.asking_server import asking_entry, form
from tests.support.bridges import bridge_with, status_of
from tests.support.callers import Responding, far_client, of_caller
from tests.support.fault_http import fault_http
from tests.support.mcp_servers import gallery_entry
from tests.support.processes import is_running, wait_until
from xai_mcp_agent import Bridge, ToolResult
from xai_mcp_agent.bridge import sessions
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.calls import PROGRAM, Caller
from xai_mcp_agent.core.errors import SessionsUsedUp
from xai_mcp_agent.sources.mcp.source import McpSource

OLDER = far_client("older", is_modern=False)
NEWER = far_client("newer", respond=Responding("newer"))


def process_of(bridge: Bridge, caller: Caller, server: str = "it") -> int:
    """Return the process of the server that calls of this caller reach."""

    async def go(operations: Operations) -> ToolResult:
        return await operations.call_tool(server, "process")

    return int(of_caller(bridge, caller, go).text)


async def era_of(operations: Operations) -> str:
    """Return the era of the caller's session."""
    source = operations.engine.sessions.running("it", operations.caller)
    return source.status().era if source else ""


def forget(bridge: Bridge, client: str) -> None:
    """Tell the bridge that the client has left."""
    bridge.run(lambda operations: operations.engine.sessions.forget_client(client))


async def echo(operations: Operations) -> ToolResult:
    return await operations.call_tool("it", "echo", {"text": "hello"})


@contextmanager
def gallery(**settings: object) -> Generator[Bridge]:
    """Open a bridge to the gallery, and wait until it is ready."""
    with bridge_with(it=gallery_entry(**settings)) as bridge:
        bridge.connect(wait=True)
        yield bridge


def test_a_client_that_is_asked_during_a_call_has_a_session_of_its_era():
    with bridge_with(it=asking_entry()) as bridge:
        assert status_of(bridge, "it").sessions == 0

        async def ask(operations: Operations) -> ToolResult:
            return await operations.call_tool("it", "ask", form())

        for caller in (OLDER, NEWER):
            answer = json.loads(of_caller(bridge, caller, ask).text)
            assert answer["content"] == {"colour": caller.name}
        eras = [of_caller(bridge, x, era_of) for x in (OLDER, NEWER, PROGRAM)]
        assert eras == ["2025-11-25", "2026-07-28", "2026-07-28"]
        assert status_of(bridge, "it").sessions == 2


def test_later_calls_and_other_clients_open_no_further_session():
    with gallery() as bridge:
        main = process_of(bridge, PROGRAM)
        assert process_of(bridge, NEWER) == main
        assert process_of(bridge, far_client("mute", is_modern=False, able={})) == main
        older = process_of(bridge, OLDER)
        assert older != main
        assert process_of(bridge, far_client("second", is_modern=False)) == older
        bridge.disconnect("it")
        wait_until(lambda: not is_running(main) and not is_running(older), "both have ended")
        assert status_of(bridge, "it").sessions == 0
        assert process_of(bridge, OLDER) not in (main, older)


def test_a_server_of_one_era_is_tried_once_in_the_other():
    for era in ("modern", "legacy"):
        with fault_http(era=era) as peer, bridge_with(it=peer.entry()) as bridge:
            for _ in range(3):
                assert of_caller(bridge, OLDER, echo).text == "hello"
            assert peer.methods.count("initialize") == 1
            assert status_of(bridge, "it").sessions == 1


def test_each_client_can_have_its_own_process_until_it_leaves():
    with gallery(session="client", sessionLimit=2) as bridge:
        clients = [NEWER, OLDER]
        processes = [process_of(bridge, x) for x in (*clients, PROGRAM)]
        assert len(set(processes)) == 3
        assert [process_of(bridge, x) for x in clients] == processes[:2]
        assert status_of(bridge, "it").sessions == 3
        third = far_client("third", respond=Responding("third"))
        for _ in range(10):  # no fault of the server: its circuit breaker stays closed
            with pytest.raises(SessionsUsedUp, match=r"2 clients use it(.|\n)*`sessionLimit`"):
                process_of(bridge, third)
        assert process_of(bridge, PROGRAM) == processes[2]
        forget(bridge, "newer")
        assert not is_running(processes[0])
        assert process_of(bridge, third) not in processes
        assert status_of(bridge, "it").sessions == 3


def test_a_session_beside_the_main_one_ends_when_it_is_idle(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sessions, "_IDLE_SECONDS", 0.2)
    with gallery(session="client") as bridge:

        async def follow(operations: Operations) -> None:
            await operations.listen("it", ["tools"])

        listening = far_client("listens", respond=Responding(""))
        process_of(bridge, listening)
        of_caller(bridge, listening, follow)
        main, own = process_of(bridge, PROGRAM), process_of(bridge, NEWER)
        wait_until(lambda: not is_running(own), "it is idle")
        assert is_running(main)
        assert status_of(bridge, "it").sessions == 2, "somebody listens to the other one"
        forget(bridge, listening.name)


def test_a_client_that_has_left_leaves_no_source():
    """A gateway over HTTP meets a thousand clients that never come back."""

    async def own_source(operations: Operations) -> weakref.ref[McpSource]:
        source = operations.engine.sessions.running("it", operations.caller)
        assert source is not None
        return weakref.ref(source)

    sources: list[weakref.ref[McpSource]] = []
    with fault_http() as peer, bridge_with(it=peer.entry(session="client")) as bridge:
        for number in range(3):
            client = far_client(f"client{number}", respond=Responding(""))
            assert of_caller(bridge, client, echo).text == "hello"
            sources.append(of_caller(bridge, client, own_source))
            forget(bridge, client.name)

        def are_collected() -> bool:
            gc.collect()
            return all(source() is None for source in sources)

        wait_until(are_collected, "their sources are gone")
