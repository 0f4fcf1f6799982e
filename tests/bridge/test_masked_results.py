"""Secrets of the settings are masked in results, for every kind of source."""

from __future__ import annotations

import traceback
from collections.abc import Generator
from dataclasses import asdict

import pytest

from tests.support.bridges import status_of
from tests.support.warm_python import python_entry
from xai_mcp_agent import Bridge, ServerError

KEY = "sesame-open-9876"
_SERVER = """
import os
from typing import Any
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult

key = os.environ["API_TOKEN"]
server = MCPServer(f"of {key}", log_level="CRITICAL")

@server.tool()
def show() -> dict[str, Any]:
    return {"key": key, key: [1, True, None, f"it is {key}"]}

@server.tool()
def say() -> CallToolResult:
    extra = {"_meta": {"k": key}, "size": 1, "title": key}
    inside = {"uri": "a:b", "text": key, "_meta": {"k": key}}
    return CallToolResult.model_validate({"content": [
        {"type": "text", "text": "x", "_meta": {"k": key}},
        {"type": "image", "data": "AAAA", "mimeType": "image/png", "_meta": {"k": key}},
        {"type": "resource_link", "uri": "a:b", "name": "b", **extra},
        {"type": "resource", "resource": inside, "_meta": {"k": key}},
    ]})

@server.tool()
def refuse() -> str:
    raise MCPError(-32000, f"{key} is not good", {"key": key})

server.run()
"""


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Generator[Bridge]:
    """A bridge with an MCP server, a function and a file that all know the key."""
    folder = tmp_path_factory.mktemp("masked")
    (folder / "server.py").write_text(_SERVER)
    (folder / "own.py").write_text(
        f"def show() -> dict[str, str]:\n    return {{'key': {KEY!r}}}\n"
    )
    it = python_entry(folder / "server.py", env={"API_TOKEN": KEY})
    settings = {"mcpServers": {"it": it}, "functions": {"own": {"file": str(folder / "own.py")}}}
    with Bridge(settings, store="memory") as running:
        yield running


@pytest.mark.parametrize("source", ["it", "own"])
def test_a_result_has_no_secret_of_the_settings(bridge: Bridge, source: str) -> None:
    result = bridge.call_tool(source, "show")
    assert KEY not in repr(result)
    assert result.structured["key"] == "***"
    if source == "it":
        assert status_of(bridge, "it").server.startswith("of ***")
        assert result.structured["***"] == [1, True, None, "it is ***"]


def test_no_part_of_a_result_has_a_secret(bridge: Bridge) -> None:
    result = bridge.call_tool("it", "say")
    assert KEY not in repr(result)
    text, image, link, resource = map(asdict, result.parts)
    meta = {"_meta": {"k": "***"}}
    assert (text["more"], image["more"], resource["more"], resource["around"]) == (meta,) * 4
    assert link["more"] == {**meta, "size": 1, "title": "***"}


def test_the_traceback_of_a_refused_call_has_no_secret(bridge: Bridge) -> None:
    with pytest.raises(ServerError, match=r"\*\*\* is not good") as failure:
        bridge.call_tool("it", "refuse")
    errors: list[BaseException | None] = [failure.value]
    assert failure.value.data == {"key": "***"}
    assert KEY not in "".join(traceback.format_exception(failure.value))
    while errors:
        error = errors.pop()
        if error is not None:
            assert KEY not in repr(error)
            errors += [error.__cause__, error.__context__]
