"""Whatever a server answers with, the SDK takes the frame of it, and the content can be read."""

from __future__ import annotations

import copy
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.methods import validate_server_result

from xai_mcp_agent import UnknownPart
from xai_mcp_agent.sources.mcp.convert import prompt_message_of, result_of, tool_of
from xai_mcp_agent.sources.mcp.sanitize import raw_of, sanitize

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


def frame_of(method: str, answer: dict[str, Any], notes: list[str] | None = None) -> dict[str, Any]:
    """The answer as the SDK gets it, which is valid in every era."""
    before = copy.deepcopy(answer)
    frame = sanitize(method, answer, (notes if notes is not None else []).append)
    assert answer == before, "what came is left as it was"
    modern = () if method == "initialize" else ("2026-07-28",)
    for version in ("2024-11-05", "2025-11-25", *modern):
        validate_server_result(method, version, frame)
    return frame


@given(any_json, objects)
async def test_any_result_of_a_tool_can_be_read(content: Any, more: dict[str, Any]):
    frame = frame_of("tools/call", {**more, "content": content})
    read = result_of(raw_of(types.CallToolResult.model_validate(frame, by_name=False)))
    alone = isinstance(content, str | dict)  # some servers forget the list
    blocks = content if isinstance(content, list) else [content] * alone
    assert len(read.parts) == len(blocks), "no part is lost"
    assert read.structured == more.get("structuredContent")
    for part, block in zip(read.parts, blocks, strict=True):
        assert not isinstance(part, UnknownPart) or part.raw == block, "it is kept as it came"


@given(any_json, objects)
async def test_any_listing_of_tools_can_be_read(tools: Any, more: dict[str, Any]):
    frame = frame_of("tools/list", {**more, "tools": tools})
    listed = raw_of(types.ListToolsResult.model_validate(frame, by_name=False))["tools"]
    for raw in listed:
        read = tool_of("s", raw)
        assert read.name
        assert isinstance(read.input_schema, dict)


@given(any_json)
async def test_any_message_of_a_prompt_can_be_read(content: Any):
    assert prompt_message_of({"role": "king", "content": content}).role == "user"


@pytest.mark.parametrize("cursor", [5, [], {"a": 1}])
async def test_a_place_to_go_on_that_is_not_text_ends_the_listing_with_a_note(cursor: Any):
    notes: list[str] = []
    assert "nextCursor" not in frame_of("tools/list", {"tools": [], "nextCursor": cursor}, notes)
    assert notes == ["The listing goes on at a place that is not text; what follows is not listed."]


@given(any_json, any_json, objects)
async def test_any_handshake_can_be_read(info: Any, abilities: Any, more: dict[str, Any]):
    answer = {**more, "serverInfo": info, "capabilities": abilities, "protocolVersion": None}
    frame = frame_of("initialize", answer)
    assert types.InitializeResult.model_validate(frame, by_name=False).protocol_version


@given(st.sampled_from(["tools", "resources", "logging", "experimental"]), any_json, any_json)
async def test_any_ability_can_be_read(name: str, raw: Any, within: Any):
    for ability in (raw, {"listChanged": within}, {"some": within}):
        frame = frame_of("initialize", {"capabilities": {name: ability}})
        types.InitializeResult.model_validate(frame, by_name=False)
