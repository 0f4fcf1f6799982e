"""Servers whose schemas or results are work without an end hold up nobody, and say so in a note."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.bridges import status_of
from tests.support.fault_server import entry
from tests.support.stalls import STALL_SECONDS, Stalls, watching
from xai_mcp_agent import Bridge, Tool
from xai_mcp_agent.bridge.operations import Operations

OBJECT = {"type": "object"}
ANSWER = '{"jsonrpc": "2.0", "id": ID, "result": %s}'


@contextmanager
def watched(folder: Path, *tools: dict[str, Any]) -> Iterator[tuple[Bridge, Stalls]]:
    """A bridge with a server that offers these, and how still its loop stands from the start."""
    options = folder / "options.json"
    options.write_text(json.dumps({"tools": tools}), encoding="utf-8")
    server = entry()
    server["args"] = ["-S", "-E", entry()["args"][2], f"@{options}"]  # pyright: ignore
    with Bridge({"mcpServers": {"it": server}}) as bridge, watching(bridge) as stalls:
        yield bridge, stalls


def tool(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "description": "A tool.", "inputSchema": OBJECT, **fields}


def doubled(levels: int) -> dict[str, Any]:
    """Two kilobytes that ask for 2^levels steps."""
    parts = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {**OBJECT, "$ref": "#/$defs/d0", "$defs": {**parts, f"d{levels}": OBJECT}}


def costly(number: int) -> dict[str, Any]:
    repeats = [f"(a{{1,30}}b{{1,20}}|[a-z0-9_-]{{1,60}}){{1,{20 + x}}}{number}" for x in range(10)]
    return {**OBJECT, "properties": {f"p{n}": {"pattern": x} for n, x in enumerate(repeats)}}


def offer(bridge: Bridge, tools: list[Tool]) -> int:
    """Make what a model is shown of them; how many."""

    async def made(operations: Operations) -> int:
        return len(await operations.engine.definitions.of((x.name, x) for x in tools))

    return bridge.run(made)


@pytest.mark.parametrize("schema", [doubled(45), {"properties": {"a": doubled(45)}, **doubled(45)}])
def test_arguments_pass_unchecked_where_references_double(tmp_path: Path, schema: Any):
    with watched(tmp_path, tool("echo", inputSchema=schema)) as (bridge, stalls):
        assert bridge.call_tool("it", "echo", {"text": "hello"}).text == "hello"
        assert offer(bridge, bridge.list_tools("it")) == 1
        (note,) = status_of(bridge, "it").notes
    assert stalls.longest_step_seconds < STALL_SECONDS
    assert note == (
        "Arguments of tool 'echo' are not checked: its inputSchema is unusable "
        "(its references and choices multiply, or lead back to themselves)."
    )


def test_results_pass_unchecked_where_references_double(tmp_path: Path):
    line = ANSWER % '{"content": [], "structuredContent": {"a": 1}}'
    with watched(tmp_path, tool("raw", outputSchema=doubled(45))) as (bridge, stalls):
        assert bridge.call_tool("it", "raw", {"line": line}).structured == {"a": 1}
        (note,) = status_of(bridge, "it").notes
    assert stalls.longest_step_seconds < STALL_SECONDS
    assert note.startswith("Results of tool 'raw' are not checked: its outputSchema")


def test_very_many_patterns_that_take_long_to_compile_block_no_other_work(tmp_path: Path):
    tools = [
        tool("echo", inputSchema=costly(0)),
        *(tool(f"t{n}", inputSchema=costly(n)) for n in range(500)),
    ]
    with watched(tmp_path, *tools) as (bridge, stalls):
        assert offer(bridge, bridge.list_tools("it")) == 501
        assert bridge.call_tool("it", "echo", {"text": "hello"}).text == "hello"
        assert status_of(bridge, "it").notes == ()
    assert stalls.longest_step_seconds < STALL_SECONDS


def test_a_tool_with_very_many_properties_blocks_no_other_work(tmp_path: Path):
    properties = {f"p{n}": {"type": "string", "description": "One."} for n in range(100_000)}
    schema = {**OBJECT, "properties": properties, "required": ["p1"]}
    with watched(tmp_path, tool("echo", inputSchema=schema)) as (bridge, stalls):
        assert offer(bridge, bridge.list_tools("it")) == 1
        assert bridge.call_tool("it", "echo", {"text": "hello"}).text == "hello"
        (note,) = status_of(bridge, "it").notes
    assert stalls.longest_step_seconds < STALL_SECONDS
    assert "made of 50,000 parts or more" in note


@pytest.mark.parametrize("what", ["parts", "rows"])
def test_a_result_of_very_many_parts_blocks_no_other_work(tmp_path: Path, what: str):
    blocks = ", ".join(['{"type": "text", "text": "x"}'] * 450_000)
    rows = ", ".join(["1"] * 450_000)
    result = f'{{"content": [{blocks if what == "parts" else ""}]'
    result += f', "structuredContent": {{"rows": [{rows}]}}}}' if what == "rows" else "}"
    schema = {"properties": {"rows": {"items": {"type": "integer"}}}}
    with watched(tmp_path, tool("raw", outputSchema=schema)) as (bridge, stalls):
        answer = bridge.call_tool("it", "raw", {"line": ANSWER % result})
        assert len(answer.parts if what == "parts" else answer.structured["rows"]) == 450_000
    assert stalls.longest_step_seconds < STALL_SECONDS
