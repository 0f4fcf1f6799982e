"""The SDK accepts the frame of any response of a server, and we can read its content."""

from __future__ import annotations

import copy
from typing import Any

import mcp_types as types
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mcp_types.methods import validate_server_result

from tests.support.any_json import nested
from xai_mcp_agent import UnknownPart
from xai_mcp_agent.settings.server import ServerSettings
from xai_mcp_agent.sources.mcp.connection import Connection
from xai_mcp_agent.sources.mcp.convert import prompt_message_of, result_of, tool_of
from xai_mcp_agent.sources.mcp.dispatcher import ServerDispatcher
from xai_mcp_agent.sources.mcp.requests import McpRequest, current_request
from xai_mcp_agent.sources.stderr import StderrLog

pytestmark = pytest.mark.anyio
few_examples = settings(max_examples=50)

words = st.sampled_from(["text", "image", "audio", "resource", "resource_link", "object", "a", ""])
_FIELDS = """
    type text data mimeType uri name blob resource description title inputSchema outputSchema
    annotations readOnlyHint properties _meta structuredContent isError ttlMs nextCursor
"""
fields = st.sampled_from(_FIELDS.split())
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words
any_json = nested(scalars, fields, 12)
objects = st.dictionaries(fields, any_json, max_size=6)


async def read(method: str, answer: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the answer as the SDK gets it, valid in every era, and as we read it."""
    before, request = copy.deepcopy(answer), McpRequest()
    connection = Connection(ServerSettings(name="s", transport="stdio"), StderrLog(str))
    token = current_request.set(request)
    frame = await ServerDispatcher(None, None, connection, print).frame_of(method, answer)
    current_request.reset(token)
    assert answer == before, "the answer itself is unchanged"
    modern = () if method == "initialize" else ("2026-07-28",)
    for version in ("2024-11-05", "2025-11-25", *modern):
        validate_server_result(method, version, frame)
    return frame, request.answer


@few_examples
@given(any_json, objects)
async def test_any_result_of_a_tool_can_be_read(content: Any, more: dict[str, Any]):
    frame, raw = await read("tools/call", {**more, "content": content})
    types.CallToolResult.model_validate(frame, by_name=False)
    result = result_of(raw)
    is_single = isinstance(content, str | dict)  # some servers forget the list
    blocks = content if isinstance(content, list) else [content] * is_single
    assert len(result.parts) == len(blocks), "no part is lost"
    assert result.structured == more.get("structuredContent")
    for part, block in zip(result.parts, blocks, strict=True):
        assert not isinstance(part, UnknownPart) or part.raw == block, "it is unchanged"


@few_examples
@given(any_json, objects)
@example([], {"ttlMs": 2.0**63})
async def test_any_listing_of_tools_can_be_read(tools: Any, more: dict[str, Any]):
    frame, answer = await read("tools/list", {**more, "tools": tools})
    types.ListToolsResult.model_validate(frame, by_name=False)
    for raw in answer["tools"]:
        tool = tool_of("s", raw)
        assert tool.name
        assert isinstance(tool.input_schema, dict)


@few_examples
@given(any_json)
async def test_any_message_of_a_prompt_can_be_read(content: Any):
    assert prompt_message_of({"role": "king", "content": content}).role == "user"


CAPABILITIES = st.sampled_from(["tools", "resources", "logging", "experimental"])
capabilities = any_json | st.dictionaries(
    CAPABILITIES, any_json | st.fixed_dictionaries({"listChanged": any_json}), max_size=3
)


@few_examples
@given(any_json, capabilities, objects)
async def test_any_handshake_can_be_read(info: Any, declared: Any, more: dict[str, Any]):
    answer = {**more, "serverInfo": info, "capabilities": declared, "protocolVersion": None}
    frame, _ = await read("initialize", answer)
    assert types.InitializeResult.model_validate(frame, by_name=False).protocol_version
