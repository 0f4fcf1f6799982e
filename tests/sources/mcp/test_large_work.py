"""Large results, costly schemas and endless questions hold up nobody, and say so in a note."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.bridges import status_of
from tests.support.fault_server import entry
from tests.support.http_faults import call, connected, event
from tests.support.stalls import STALL_SECONDS, Stalls, watching
from xai_mcp_agent import Bridge, Tool
from xai_mcp_agent.bridge.operations import Operations

OBJECT = {"type": "object"}
ANSWER = '{"jsonrpc": "2.0", "id": ID, "result": %s}'
ROWS = [{"a": 1}] * 100_000


@contextmanager
def watched(folder: Path, *tools: dict[str, Any]) -> Iterator[tuple[Bridge, Stalls]]:
    """A bridge with a server that offers these; its loop may not stand still from the start."""
    options = folder / "options.json"
    options.write_text(json.dumps({"tools": tools}), encoding="utf-8")
    server = entry()
    server["args"] = ["-S", "-E", entry()["args"][2], f"@{options}"]  # pyright: ignore
    with Bridge({"mcpServers": {"it": server}}) as bridge, watching(bridge) as stalls:
        yield bridge, stalls
    assert stalls.longest_step_seconds < STALL_SECONDS


def tool(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "description": "A tool.", "inputSchema": OBJECT, **fields}


def doubled(levels: int) -> dict[str, Any]:
    """Two kilobytes that ask for 2^levels steps."""
    parts = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {**OBJECT, "$ref": "#/$defs/d0", "$defs": {**parts, f"d{levels}": OBJECT}}


def offer(bridge: Bridge, tools: list[Tool]) -> int:
    """Make what a model is shown of them; how many."""

    async def made(operations: Operations) -> int:
        return len(await operations.engine.definitions.of((x.name, x) for x in tools))

    return bridge.run(made)


def test_arguments_and_results_pass_unchecked_where_references_double(tmp_path: Path):
    line = ANSWER % '{"content": [], "structuredContent": {"a": 1}}'
    tools = tool("echo", inputSchema=doubled(45)), tool("raw", outputSchema=doubled(45))
    with watched(tmp_path, *tools) as (bridge, _):
        assert call(bridge, "hello") == "hello"
        assert bridge.call_tool("it", "raw", {"line": line}).structured == {"a": 1}
        assert offer(bridge, bridge.list_tools("it")) == 2
        arguments, results = status_of(bridge, "it").notes
    assert arguments == (
        "Arguments of tool 'echo' are not checked: its inputSchema is unusable "
        "(its references and choices multiply, or lead back to themselves)."
    )
    assert results.startswith("Results of tool 'raw' are not checked: its outputSchema")


def test_very_many_objects_over_http_arrive_and_block_no_other_work():
    line = ANSWER % json.dumps({"content": [], "structuredContent": ROWS})

    def answer(handler: Any, message: dict[str, Any]) -> None:
        data = line.replace("ID", str(message["id"])).encode()
        handler.answer(200, event(data), "text/event-stream")

    with connected() as (peer, bridge), watching(bridge) as stalls:
        peer.faults["tools/call"] = answer
        assert bridge.call_tool("it", "echo", {"text": "x"}).structured == ROWS
    assert stalls.longest_step_seconds < STALL_SECONDS
