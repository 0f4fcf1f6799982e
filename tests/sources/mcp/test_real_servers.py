"""Servers that are not ours: from PyPI, from npm, and one that needs the SDK's 1.x line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers.environments import environment_with
from tests.support.bridges import bridge_with, names_of, status_of
from tests.support.processes import free_port, listening_process
from xai_mcp_agent import Bridge, ResourcePart, bytes_of

ROOT = Path(__file__).parents[3]
NPM = Path(os.environ.get("XAI_TEST_NPM") or ROOT / ".cache" / "npm")
SQLITE = ("mcp-server-sqlite==2025.4.25", "mcp<2")


def from_npm(package: str, *args: str, **more: Any) -> dict[str, Any]:
    """Return the settings of a server of the MCP project from npm; skip if it is not installed."""
    script = NPM / "node_modules" / "@modelcontextprotocol" / package / "dist" / "index.js"
    node = shutil.which("node")
    if node is None or not script.exists():
        pytest.skip(f"needs Node.js and {package} in {NPM} (.ci/run installs it)")
    return {"command": node, "args": [str(script), *args], **more}


@pytest.fixture(scope="module")
def sqlite_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Bridge]:
    """A server that needs mcp 1.x, in an environment of its own that later runs use again."""
    try:
        python = environment_with("mcp1", "mcp-server-sqlite", SQLITE, cache=ROOT / ".cache").python
    except (OSError, subprocess.SubprocessError) as cause:
        pytest.skip(f"{SQLITE[0]} cannot be installed: {cause}")
    program = Path(python).with_name("mcp-server-sqlite")
    database = tmp_path_factory.mktemp("sqlite") / "t.db"
    entry = {"command": str(program), "args": ["--db-path", str(database)]}
    with bridge_with(sqlite=entry) as bridge:
        yield bridge


def test_the_time_server_can_be_called():
    program = str(Path(sys.executable).parent / "mcp-server-time")
    with bridge_with(time={"command": program}) as bridge:
        assert names_of(bridge.list_tools("time")) == ["get_current_time", "convert_time"]
        result = bridge.call_tool("time", "get_current_time", {"timezone": "UTC"})
        assert result.structured["timezone"] == "UTC"
        assert status_of(bridge, "time").era == "2026-07-28"


def test_a_server_of_the_older_sdk_can_be_called(sqlite_server: Bridge):
    """It does not know server/discover, and prints a long traceback about it on stderr."""
    call = sqlite_server.call_tool
    call("sqlite", "create_table", {"query": "CREATE TABLE t (n INTEGER)"})
    call("sqlite", "write_query", {"query": "INSERT INTO t VALUES (42)"})
    assert "42" in call("sqlite", "read_query", {"query": "SELECT n FROM t"}).text
    assert status_of(sqlite_server, "sqlite").era == "2025-11-25"
    assert [x.uri for x in sqlite_server.list_resources("sqlite")] == ["memo://insights"]
    assert [x.name for x in sqlite_server.list_prompts("sqlite")] == ["mcp-demo"]


@pytest.fixture(scope="module")
def everything() -> Generator[Bridge]:
    """The everything server over stdio and over Streamable HTTP, both in the handshake era."""
    entry = from_npm("server-everything")
    port = free_port()
    command = ["env", f"PORT={port}", entry["command"], *entry["args"], "streamableHttp"]
    over_stdio, over_http = from_npm("server-everything", "stdio"), f"http://127.0.0.1:{port}/mcp"
    with (
        listening_process(command, port),
        bridge_with(stdio=over_stdio, http={"url": over_http}) as bridge,
    ):
        yield bridge


@pytest.mark.npm
@pytest.mark.parametrize("server", ["stdio", "http"])
def test_the_everything_server_can_be_called(everything: Bridge, server: str):
    call = everything.call_tool
    assert call(server, "echo", {"message": "hello"}).text == "Echo: hello"
    weather = call(server, "get-structured-content", {"location": "Chicago"})
    assert (weather.structured["temperature"], weather.notes) == (36, ())
    steps: list[Any] = []
    slow = {"duration": 0.2, "steps": 2}
    call(server, "trigger-long-running-operation", slow, on_progress=lambda *x: steps.append(x))
    assert [(progress, total) for progress, total, _ in steps] == [(1, 2), (2, 2)]
    assert status_of(everything, server).era == "2025-11-25"
    text, blob = (x.uri for x in everything.list_resources(server) if x.is_template)
    assert everything.read_resource(server, text, {"resourceId": 1})[0].text
    (binary,) = everything.read_resource(server, blob, {"resourceId": 2})
    assert b"Resource 2" in bytes_of(binary)
    departments = everything.complete(server, "completable-prompt", "department", "S")
    assert departments.values == ("Sales", "Support")
    context = {"department": "Sales"}
    assert everything.complete(server, "completable-prompt", "name", "", context).values
    messages = everything.get_prompt(
        server, "resource-prompt", {"resourceType": "Text", "resourceId": "1"}
    )
    assert any(isinstance(x.content, ResourcePart) for x in messages)
    assert everything.instructions(server)
    uri = "demo://resource/dynamic/text/1"
    with everything.subscribe(server, uri) as subscription:
        call(server, "toggle-subscriber-updates")
        assert subscription.wait(20) == uri
    call(server, "toggle-subscriber-updates")
