"""The settings file we ship: valid JSON, short names, and servers that really start."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from typing import Any

import pytest

from tests.support.bridges import bridge_with
from xai_mcp_agent import Bridge, SourceError, load_settings
from xai_mcp_agent.settings.sources import ALL_BUILTIN_TOOLS, BuiltinSettings

from .servers import ROOT

FILE = ROOT / "mcp_settings.json.example"
START_SECONDS = 90.0  # npx may fetch the package first
OFFLINE = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENOTCACHED|ETIMEDOUT|ENETUNREACH")
AT_ONCE = {"npm_config_fetch_retries": "0"}  # fail at once if the registry cannot be reached


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


@pytest.mark.parametrize("name", ["time", pytest.param("files", marks=pytest.mark.npm)])
def test_an_entry_that_needs_another_installation_starts_and_offers_tools(name: str) -> None:
    """Decided by the owner: every entry is a server that can really be started."""
    entry = entries()[name]
    if entry["command"] == "npx" and shutil.which("npx") is None:
        pytest.skip("npx is not installed")
    if entry["args"][0] == "-m" and importlib.util.find_spec(entry["args"][1]) is None:
        pytest.skip(f"{entry['args'][1]} is not installed")
    here = {"disabled": False, "cwd": str(ROOT), "startTimeout": START_SECONDS}
    with bridge_with(**{name: {**entry, **here, "env": AT_ONCE}}) as bridge:
        try:
            assert bridge.list_tools(name)
        except SourceError as error:
            if entry["command"] == "npx" and OFFLINE.search(str(error)):
                pytest.skip(f"{name}: npm cannot be reached")
            raise


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
