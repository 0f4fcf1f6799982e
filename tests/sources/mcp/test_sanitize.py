"""Whatever JSON a server answers with, what is left after mending can be read."""

from __future__ import annotations

import copy
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.methods import validate_server_result

from xai_mcp_agent import UnknownPart
from xai_mcp_agent.sources.mcp.results import prompt_message_of, result_of, tool_of
from xai_mcp_agent.sources.mcp.wire.sanitize import MENDERS
from xai_mcp_agent.sources.mcp.wire.watch import Watch

pytestmark = pytest.mark.anyio

words = st.sampled_from(["text", "image", "audio", "resource", "resource_link", "object", "a", ""])
_FIELDS = """
    type text data mimeType uri name blob resource description title inputSchema outputSchema
    annotations readOnlyHint properties _meta structuredContent isError ttlMs nextCursor
"""
fields = st.sampled_from(_FIELDS.split())
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words
any_json = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(fields, inner, max_size=6),
    max_leaves=12,
)
objects = st.dictionaries(fields, any_json, max_size=6)


def mended(method: str, answer: dict[str, Any]) -> dict[str, Any]:
    """A copy of the answer as the SDK gets it, which is valid in every era."""
    result = copy.deepcopy(answer)
    if isinstance(result.get("ttlMs"), int):
        result["ttlMs"] = max(result["ttlMs"], 0)  # as the SDK does before it looks
    MENDERS[method](result, Watch())
    modern = () if method == "initialize" else ("2026-07-28",)
    for version in ("2024-11-05", "2025-11-25", *modern):
        validate_server_result(method, version, result)
    return result


@given(any_json, objects)
async def test_any_result_of_a_tool_can_be_read(content: Any, more: dict[str, Any]):
    result = mended("tools/call", {**more, "content": content})
    read = result_of(types.CallToolResult.model_validate(result, by_name=False))
    alone = isinstance(content, str | dict)  # some servers forget the list
    blocks = content if isinstance(content, list) else [content] * alone
    assert len(read.parts) == len(blocks), "no part is lost"
    assert read.structured == more.get("structuredContent")
    for part, block in zip(read.parts, blocks, strict=True):
        assert not isinstance(part, UnknownPart) or part.raw == block, "it is kept as it came"


@given(any_json, objects)
async def test_any_listing_of_tools_can_be_read(tools: Any, more: dict[str, Any]):
    result = mended("tools/list", {**more, "tools": tools})
    listed = types.ListToolsResult.model_validate(result, by_name=False)
    for tool in listed.tools:
        read = tool_of("s", tool)
        assert read.name
        assert isinstance(read.input_schema, dict)


@given(any_json)
async def test_any_message_of_a_prompt_can_be_read(content: Any):
    result = mended("prompts/get", {"messages": [{"role": "user", "content": content}]})
    read = types.GetPromptResult.model_validate(result, by_name=False)
    assert prompt_message_of(read.messages[0]).role == "user"


@pytest.mark.parametrize("cursor", [5, [], {"a": 1}])
async def test_a_place_to_go_on_that_is_not_text_ends_the_listing_with_a_note(cursor: Any):
    watch = Watch()
    result = {"tools": [], "nextCursor": cursor}
    MENDERS["tools/list"](result, watch)
    assert "nextCursor" not in result
    assert watch.notes == [
        "The listing goes on at a place that is not text; what follows is not listed."
    ]


@given(any_json, any_json, objects)
async def test_any_handshake_can_be_read(info: Any, abilities: Any, more: dict[str, Any]):
    answer = {**more, "serverInfo": info, "capabilities": abilities, "protocolVersion": None}
    result = mended("initialize", answer)
    assert types.InitializeResult.model_validate(result, by_name=False).protocol_version


@given(st.sampled_from(["tools", "resources", "logging", "experimental"]), any_json, any_json)
async def test_any_ability_can_be_read(name: str, raw: Any, within: Any):
    for ability in (raw, {"listChanged": within}, {"some": within}):
        result = mended("initialize", {"capabilities": {name: ability}})
        types.InitializeResult.model_validate(result, by_name=False)
