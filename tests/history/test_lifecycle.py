"""Spec 2 played with real servers: the whole event list, link by link and payload by payload."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.bridges import bridge_with, wait_for_tool
from tests.support.histories import told_by
from tests.support.living_server import SET_TOOLS, living_server, tool
from tests.support.spec_events import Spec
from xai_mcp_agent.core.tools import JsonObject

A, B, C = tool("a"), tool("b"), tool("c")
A2 = tool("a", description="better")


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_the_life_of_a_server_is_told_as_the_spec_has_it(kind: str, era: str, tmp_path: Path):
    """Connect, change, stop, reconnect, crash, and come back changed."""
    with living_server(kind, era, tmp_path) as peer:
        peer.offer(A, B)
        with bridge_with(it=peer.entry()) as bridge:
            spec = Spec(bridge, peer.transport)
            bridge.list_tools("it")
            expected = [spec.connected(3)]
            expected += [spec.tool("discovered", x) for x in (A, B, SET_TOOLS)]
            assert told_by(bridge) == expected

            bridge.disconnect("it")
            expected += [spec.disconnected("it was closed.")]
            expected += [spec.gone(x, "it was closed.") for x in (A, B, SET_TOOLS)]
            assert told_by(bridge) == expected

            bridge.list_tools("it")  # as it was
            expected += [spec.again("reconnected", 3)]
            expected += [spec.tool("confirmed", x) for x in (A, B, SET_TOOLS)]
            assert told_by(bridge) == expected

            offered = [A2, C, SET_TOOLS]
            bridge.call_tool("it", "set_tools", {"tools": offered, "only": True})
            wait_for_tool(bridge, "it", "c")
            expected += [spec.again("refreshed", 3), spec.tool("changed", A2)]
            expected += [spec.tool("discovered", C), spec.gone(B, "It is not listed any more.")]
            assert without_calls(told_by(bridge)) == expected

            peer.offer(A, B)
            peer.kill(bridge)
            bridge.list_tools("it")
            told = without_calls(told_by(bridge))
            reason = told[len(expected)]["reason"]
            assert reason
            expected += [spec.disconnected(reason)]
            expected += [spec.gone(x, reason) for x in (A2, C, SET_TOOLS)]
            if kind == "http":
                failed = told[len(expected)]
                assert failed["change"] == "failed", "once, however often it was tried"
                expected.append(failed)
            expected += [spec.again("reconnected", 3), spec.tool("changed", A)]
            expected += [spec.tool("returned", B), spec.tool("confirmed", SET_TOOLS)]
            expected += [spec.gone(C, "It is not listed any more.")]  # and not only lost
            assert told == expected


def without_calls(events: list[JsonObject]) -> list[JsonObject]:
    """What was found out alone."""
    return [x for x in events if x["change"] != "called"]
