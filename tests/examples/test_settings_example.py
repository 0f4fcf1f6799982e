"""The settings file we ship: valid JSON, short names, and servers that really start."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import tempfile
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.support.warm_python import warm_python
from xai_mcp_agent import Bridge, load_settings
from xai_mcp_agent.settings.sources import ALL_BUILTIN_TOOLS, BuiltinSettings

from .servers import ROOT

FILE = ROOT / "mcp_settings.json.example"
START_SECONDS = 90.0  # npx may fetch the package first
OFFLINE = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENOTCACHED|ETIMEDOUT|ENETUNREACH")


def entries() -> dict[str, dict[str, Any]]:
    """Return the servers of the file by name."""
    return json.loads(FILE.read_text(encoding="utf-8"))["mcpServers"]


def test_a_first_run_starts_only_bundled_servers_and_fetches_nothing() -> None:
    """Decided by us: an entry that needs another installation is disabled at first."""
    enabled = {name: entry for name, entry in entries().items() if not entry.get("disabled")}
    assert set(enabled) == {"library", "units", "calendar", "workbench"}
    for entry in enabled.values():
        assert entry["command"] == "${python}"
        assert (ROOT / entry["args"][0]).is_file()
    (workflow,) = json.loads(FILE.read_text(encoding="utf-8"))["workflows"].values()
    assert workflow["disabled"] is True
    assert (ROOT / workflow["file"]).is_file()


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["time", pytest.param("files", marks=pytest.mark.npm)])
async def test_an_entry_that_needs_another_installation_starts_and_offers_tools(name: str) -> None:
    """Decided by the owner: every entry is a server that can really be started."""
    entry = entries()[name]
    if entry["command"] == "npx" and shutil.which("npx") is None:
        pytest.skip("npx is not installed")
    if entry["args"][0] == "-m" and importlib.util.find_spec(entry["args"][1]) is None:
        pytest.skip(f"{entry['args'][1]} is not installed")
    parameters = StdioServerParameters(
        command=entry["command"].replace("${python}", warm_python()),
        args=entry["args"],
        env={"npm_config_fetch_retries": "0"},  # fail at once if the registry cannot be reached
        cwd=str(ROOT),
    )
    problem, noise = await start_and_list(parameters)
    if problem and entry["command"] == "npx" and OFFLINE.search(noise):
        pytest.skip(f"{name}: npm cannot be reached")
    assert problem is None, f"{name}: {problem!r}\n{noise}"


async def start_and_list(parameters: StdioServerParameters) -> tuple[BaseException | None, str]:
    """Start a server and list its tools; return the problem, if any, and its standard error."""
    problem: BaseException | None = None
    with tempfile.TemporaryFile("w+") as errors:
        try:
            with anyio.fail_after(START_SECONDS):
                async with Client(stdio_client(parameters, errlog=errors)) as client:
                    assert (await client.list_tools()).tools
        except* (MCPError, OSError) as group:  # a timeout is an OSError
            problem = group
        errors.seek(0)
        return problem, errors.read()


def test_the_file_of_functions_is_bundled_and_can_be_used() -> None:
    with Bridge.open(FILE, store="memory") as bridge:
        assert [x.name for x in bridge.list_tools("shopping")] == ["add_item", "show_list", "cost"]
        bridge.call_tool("shopping", "add_item", {"item": "bread", "count": 2})
        shopping = bridge.call_tool("shopping", "show_list", {"order": "by name"})
        total = bridge.call_tool("shopping", "cost", {"prices": {"bread": 2.5}})
        wrong = bridge.call_tool("shopping", "cost", {"prices": {}})
    assert (shopping.structured, total.structured) == ({"bread": 2}, 5.0)
    assert wrong.is_error
    assert "ValueError: no price for bread (in shopping.py, line" in wrong.text


def test_the_file_lists_all_built_in_tools_and_disables_them() -> None:
    handy = load_settings(FILE).sources["handy"]
    assert isinstance(handy, BuiltinSettings)
    assert (handy.tools, handy.disabled) == (ALL_BUILTIN_TOOLS, True)
    switched_on = {"builtin": {"handy": {"tools": list(handy.tools), "workspace": "notes"}}}
    with Bridge(switched_on, store="memory") as bridge:
        assert [x.name for x in bridge.list_tools("handy")] == list(ALL_BUILTIN_TOOLS)
