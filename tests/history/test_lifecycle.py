"""The events of real servers are those of spec 2, with all links and payloads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.bridges import bridge_with, wait_for_tool
from tests.support.fault_http import fault_http
from tests.support.fault_server import entry
from tests.support.histories import ask, events_of, records_of, short
from tests.support.http_faults import refuse
from tests.support.living_server import SET_TOOLS, living_server, tool
from xai_mcp_agent import Bridge, JsonObject, SourceError
from xai_mcp_agent.history.event import Project
from xai_mcp_agent.views.history import event_json

SERVER, TOOLS = "mcp:it", "mcp_tool:it_"
NOT_LISTED = "It is no longer listed."
_DIFFERENT = ("position", "time", "run", "definition")
LINKS = ("extends", "related_to", "reinforces", "contradicts")


class Spec:
    """Expected events of spec 2."""

    def __init__(self, bridge: Bridge, transport: str = "stdio") -> None:
        project: Project = ask(bridge, lambda store: store.project)
        self.tools_id = f"{project.repo_hash}:tools"
        self._knowledge_id = f"knowledge:{project.name}_{project.repo_hash}"
        self._transport = transport

    def event(
        self, change: str, context_id: str, payload: JsonObject, reason: str = "", **links: str
    ) -> JsonObject:
        """One event; each link has one target."""
        is_tool = context_id.startswith(TOOLS)
        return {
            "context_id": context_id, "event_kind": "fact", "source": "validator", "change": change,
            "payload": payload, **{x: [links[x]] if x in links else [] for x in LINKS},
            "kind": "mcp", "tool_source": "it", "reason": reason,
            "tool": context_id.removeprefix(TOOLS) if is_tool else None,
        }  # fmt: skip

    def connected(self, count: int) -> JsonObject:
        """On Server Start: 1. Store server anchor."""
        payload = {
            "server_id": "it", "server_name": "fault 1", "transport": self._transport,
            "tool_count": count, "status": "connected",
        }  # fmt: skip
        links = {"extends": self.tools_id, "related_to": self._knowledge_id}
        return self.event("connected", SERVER, payload, **links)

    def again(self, change: str, count: int) -> JsonObject:
        """On Server Reconnect: the server anchor."""
        payload = {"server_id": "it", "tool_count": count, "status": "connected"}
        return self.event(change, SERVER, payload, reinforces=SERVER, extends=self.tools_id)

    def tool(self, change: str, listed: JsonObject) -> JsonObject:
        """An event of a listed tool."""
        itself = TOOLS + listed["name"]
        link = {"discovered": "related_to", "changed": "contradicts"}.get(change, "reinforces")
        links = {"extends": SERVER, link: self.tools_id if change == "discovered" else itself}
        payload = {
            "name": listed["name"], "description": listed.get("description", ""),
            "parameters": listed["inputSchema"],
        }  # fmt: skip
        return self.event(change, itself, payload, **links)

    def unavailable(self, listed: JsonObject, reason: str = NOT_LISTED) -> JsonObject:
        """On Server Stop / Disconnect: 2. Contradict each tool individually."""
        itself, payload = TOOLS + listed["name"], {"status": "unavailable"}
        return self.event("unavailable", itself, payload, reason, contradicts=itself)

    def lost(self, reason: str, *tools: JsonObject) -> list[JsonObject]:
        """On Server Stop / Disconnect: 1. Contradict the server anchor."""
        payload = {"status": "disconnected"}
        anchor = self.event("disconnected", SERVER, payload, reason, contradicts=SERVER)
        return [anchor, *(self.unavailable(x, reason) for x in tools)]


def facts(bridge: Bridge) -> list[JsonObject]:
    """All events in order, without the fields that differ from run to run."""
    events = [event_json(x) for x in events_of(bridge)]
    positions = [x["position"] for x in events]
    assert positions == sorted(positions)
    assert {*positions} == {*range(1, max(positions, default=0) + 1)}
    return [{k: x for k, x in e.items() if k not in _DIFFERENT} for e in events]


A, B, C = tool("a"), tool("b"), tool("c")
A2 = tool("a", description="better")


@pytest.mark.parametrize(("kind", "era"), [("stdio", "legacy"), ("http", "modern")])
def test_the_events_of_a_server_are_those_of_the_spec(kind: str, era: str, tmp_path: Path):
    """The server connects, stops, reconnects, changes, crashes, and returns with changes."""
    with living_server(kind, era, tmp_path) as peer:
        peer.offer(A, B)
        with bridge_with(it=peer.entry()) as bridge:
            spec = Spec(bridge, peer.transport)
            bridge.list_tools("it")
            expected = [spec.connected(3)]
            expected += [spec.tool("discovered", x) for x in (A, B, SET_TOOLS)]
            assert facts(bridge) == expected

            bridge.disconnect("it")
            expected += spec.lost("it was closed.", A, B, SET_TOOLS)
            assert facts(bridge) == expected

            bridge.list_tools("it")  # as it was
            expected += [spec.again("reconnected", 3)]
            expected += [spec.tool("confirmed", x) for x in (A, B, SET_TOOLS)]
            assert facts(bridge) == expected

            offered = [A2, C, SET_TOOLS]
            bridge.call_tool("it", "set_tools", {"tools": offered, "only": True})
            wait_for_tool(bridge, "it", "c")
            expected += [spec.again("refreshed", 3), spec.tool("changed", A2)]
            expected += [spec.tool("discovered", C), spec.unavailable(B)]
            assert without_calls(facts(bridge)) == expected

            peer.kill(bridge, A, B)
            bridge.list_tools("it")
            events = without_calls(facts(bridge))
            reason = events[len(expected)]["reason"]
            assert reason, events[len(expected) :]
            expected += spec.lost(reason, A2, C, SET_TOOLS)
            if kind == "http":
                failed = [x for x in events[len(expected) :] if x["change"] == "failed"]
                assert 1 <= len(failed) <= 2, "reported once or twice, however often it failed"
                expected += failed
            # Implied events come before changes.
            expected += [spec.again("reconnected", 3), spec.tool("confirmed", SET_TOOLS)]
            expected += [spec.tool("changed", A), spec.tool("returned", B)]
            expected += [spec.unavailable(C)]  # and not only lost
            assert events == expected


def test_every_field_of_a_tool_counts_as_a_change(tmp_path: Path):
    """Design 7: annotations count, too. Other `_meta` and the order of keys do not."""
    plain = tool("a", inputSchema={"type": "object", "properties": {}})
    changed: list[JsonObject] = [
        {"description": "better"},
        {"inputSchema": {"type": "object", "properties": {"x": {"type": "string"}}}},
        {"outputSchema": {"type": "object"}}, {"annotations": {"destructiveHint": True}},
        {"title": "The letter A"}, {"icons": [{"src": "data:,"}]},
        {"_meta": {"fastmcp": {"tags": ["letters"]}}},
    ]  # fmt: skip
    unchanged: list[JsonObject] = [
        {"_meta": {"acme/now": 1}}, {"inputSchema": {"properties": {}, "type": "object"}},
    ]  # fmt: skip
    with living_server("stdio", "modern", tmp_path) as peer:
        peer.offer(plain)
        with bridge_with(it=peer.entry()) as bridge:
            bridge.list_tools("it")
            for fields in (*changed, *unchanged):
                for listed in ({**plain, **fields}, plain):
                    offer = {"tools": [listed, SET_TOOLS], "only": True, "notices": 0}
                    bridge.call_tool("it", "set_tools", offer)
                    bridge.refresh("it")
            events = [x for x in short(events_of(bridge))[3:] if x[0] != "called"]
    there_and_back = [("refreshed", SERVER), ("changed", f"{TOOLS}a")] * 2
    assert events == there_and_back * len(changed) + [("refreshed", SERVER)] * 2 * len(unchanged)


def test_a_refresh_reinforces_the_source_and_a_failed_one_loses_nothing():
    """Spec 4: unless forced, an inventory with the same hash is not compared."""
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        peer.peer.tools = [A, B]
        spec = Spec(bridge, "http")
        bridge.list_tools("it")
        bridge.refresh("it")
        bridge.refresh("it", force=True)
        expected = [spec.again("refreshed", 2)] * 2
        expected += [spec.tool("confirmed", x) for x in (A, B)]
        assert facts(bridge)[3:] == expected
        peer.faults["tools/list"] = refuse(500, "out of memory")
        for _ in range(3):
            with pytest.raises(SourceError):
                bridge.refresh("it")[0].require()
        assert short(events_of(bridge))[7:] == [("failed", SERVER)]
        records = records_of(bridge)
        (source,) = records.sources.values()
        assert "500" in source.last_error
        assert (source.is_connected, source.tool_count) == (True, 2)
        assert [x.is_available for x in records.tools.values()] == [True, True]
        peer.faults.clear()
        bridge.refresh("it")
        (source,) = records_of(bridge).sources.values()
        assert source.last_error == ""


def test_failed_starts_with_the_same_reason_are_reported_once():
    with bridge_with(it=entry(exit=3)) as bridge:
        for _ in range(3):
            bridge.connect("it", wait=True)
        spec, (failed,) = Spec(bridge), facts(bridge)
    reason = failed["reason"]
    assert "code 3" in reason
    payload = {"status": "failed", "error": reason}
    assert failed == spec.event("failed", SERVER, payload, reason, extends=spec.tools_id)


def without_calls(events: list[JsonObject]) -> list[JsonObject]:
    """Return the events without calls, and without listings that changed nothing.

    A stream that opens again on a busy machine causes such a listing.
    """
    events = [x for x in events if x["change"] != "called"]
    of_tools = ("discovered", "changed", "returned", "unavailable")
    pairs = zip(events, [*events[1:], {}], strict=True)
    return [
        x for x, after in pairs if x["change"] != "refreshed" or after.get("change") in of_tools
    ]
