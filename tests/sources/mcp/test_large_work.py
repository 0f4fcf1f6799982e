"""Large results and costly schemas block no other work, and a note says what is not checked."""

from __future__ import annotations

import json
from typing import Any

from tests.support.bridges import bridge_with, status_of
from tests.support.fault_server import entry, tool
from tests.support.http_faults import call, connected, event
from tests.support.stalls import STALL_SECONDS, watching
from xai_mcp_agent import Bridge, Tool
from xai_mcp_agent.bridge.operations import Operations

OBJECT = {"type": "object"}
ANSWER = '{"jsonrpc": "2.0", "id": ID, "result": %s}'
ROWS = [{"a": 1}] * 100_000


def doubling_schema(levels: int) -> dict[str, Any]:
    """Return a schema of two kilobytes whose check takes 2^levels steps."""
    parts = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {**OBJECT, "$ref": "#/$defs/d0", "$defs": {**parts, f"d{levels}": OBJECT}}


def count_definitions(bridge: Bridge, tools: list[Tool]) -> int:
    """Return the number of definitions that a model gets for these tools."""

    async def count(operations: Operations) -> int:
        return len(await operations.engine.definitions.of((x.name, x) for x in tools))

    return bridge.run(count)


def test_arguments_and_results_pass_unchecked_where_references_double():
    result = {"content": [], "structuredContent": {"a": 1}}
    tools = (
        tool("echo", inputSchema=doubling_schema(45)),
        tool("result", outputSchema=doubling_schema(45)),
    )
    with bridge_with(it=entry(tools=tools)) as bridge, watching(bridge) as stalls:
        assert call(bridge, "hello") == "hello"
        assert bridge.call_tool("it", "result", result).structured == {"a": 1}
        assert count_definitions(bridge, bridge.list_tools("it")) == 2
        arguments, results = status_of(bridge, "it").notes
    assert stalls.longest_step_seconds < STALL_SECONDS
    assert arguments == (
        "Arguments of tool 'echo' are not checked: its inputSchema is unusable "
        "(its references and choices multiply, or lead back to themselves)."
    )
    assert results.startswith("Results of tool 'result' are not checked: its outputSchema")


def test_very_many_objects_over_http_arrive_and_block_no_other_work():
    line = ANSWER % json.dumps({"content": [], "structuredContent": ROWS})

    def answer(handler: Any, message: dict[str, Any]) -> None:
        data = line.replace("ID", str(message["id"])).encode()
        handler.answer(200, event(data), "text/event-stream")

    with connected() as (peer, bridge), watching(bridge) as stalls:
        peer.faults["tools/call"] = answer
        assert bridge.call_tool("it", "echo", {"text": "x"}).structured == ROWS
    assert stalls.longest_step_seconds < STALL_SECONDS
