"""Which listings and failures of a real server are events; `tests/oracle` has a whole life."""

from __future__ import annotations

import pytest

from tests.support.bridges import bridge_with
from tests.support.fault_http import fault_http
from tests.support.fault_server import entry, tool
from tests.support.histories import events_of, records_of, short
from tests.support.http_faults import refuse
from xai_mcp_agent import JsonObject, SourceError

SERVER, TOOL_A = "mcp:it", "mcp_tool:it_a"


def test_every_field_of_a_tool_counts_as_a_change():
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
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        peer.peer.tools = [plain]
        bridge.list_tools("it")
        for fields in (*changed, *unchanged):
            for listed in ({**plain, **fields}, plain):
                peer.peer.tools = [listed]
                bridge.refresh("it")
        events = short(events_of(bridge))[2:]
    there_and_back = [("refreshed", SERVER), ("changed", TOOL_A)] * 2
    assert events == there_and_back * len(changed) + [("refreshed", SERVER)] * 2 * len(unchanged)


def test_a_failed_refresh_is_reported_once_and_loses_nothing():
    with fault_http(era="modern") as peer, bridge_with(it=peer.entry()) as bridge:
        peer.peer.tools = [tool("a"), tool("b")]
        bridge.list_tools("it")
        peer.faults["tools/list"] = refuse(500, "out of memory")
        for _ in range(3):
            with pytest.raises(SourceError):
                bridge.refresh("it")[0].require()
        assert short(events_of(bridge))[3:] == [("failed", SERVER)]
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
        (failed,) = events_of(bridge)
    assert (failed.change, failed.context_id, failed.payload) == (
        "failed", SERVER, {"status": "failed", "error": failed.reason},
    )  # fmt: skip
    assert "code 3" in failed.reason
