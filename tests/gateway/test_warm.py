"""`XAI_MCP_WARM=1`: runs reach stdio servers in the process that keeps them."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.support.asking_server import asking_entry, form
from tests.support.processes import is_running, wait_until
from tests.support.warm_servers import WarmServers
from xai_mcp_agent import Answer, Bridge, Tool
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.settings.load import load_settings
from xai_mcp_agent.sources import warm

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no such sockets")


def process_of(bridge: Bridge) -> int:
    return bridge.call_tool("gallery", "process").structured["result"]


def view_of(bridge: Bridge) -> dict[str, Any]:
    """Return everything that a run gets from the server."""
    status = next(x for x in bridge.servers() if x.name == "gallery")
    tools: list[Tool] = bridge.list_tools("gallery")
    return {
        "tools": tools, "server": status.server, "instructions": status.instructions,
        "prompts": bridge.list_prompts("gallery"), "resources": bridge.list_resources("gallery"),
        "parts": bridge.call_tool("gallery", "parts").parts,
        "error": bridge.call_tool("gallery", "refuse").text,
    }  # fmt: skip


def test_runs_share_the_process_of_a_server_and_get_the_same_as_without_it(
    servers: WarmServers, monkeypatch: pytest.MonkeyPatch
):
    with Bridge.open(servers.file) as bridge:
        alone, view = process_of(bridge), view_of(bridge)
    monkeypatch.setenv(warm.WARM_VARIABLE, "1")
    with Bridge.open(servers.file) as one, Bridge.open(servers.file) as other:
        shared = process_of(one)
        assert process_of(other) == shared != alone
        assert view_of(one) == view
    (process,) = servers.processes()
    assert (process["connections"], is_running(shared)) == (0, True)
    servers.stop()
    with Bridge.open(servers.file) as bridge:
        # The calls of three runs. The process that keeps the server records none.
        assert [x.usage.calls for x in bridge.stats().sources] == [3 + 3 + 1]


def test_a_lost_process_is_started_again_and_without_one_servers_are_started_as_usual(
    servers: WarmServers, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(warm.WARM_VARIABLE, "1")
    with Bridge.open(servers.file) as bridge:
        process_of(bridge)
    monkeypatch.setattr(warm, "START_SECONDS", 0.0)  # as if the start had been long ago
    with Bridge.open(servers.file) as bridge:
        first = process_of(bridge)
        (process,) = servers.processes()
        os.kill(process["pid"], 9)
        wait_until(lambda: not is_running(first), "its server has ended")
        assert process_of(bridge) != first
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(servers.file.parent / ("long" * 30)))
    warnings: list[str] = []
    with Bridge(load_settings(servers.file), warn=warnings.append) as bridge:
        assert is_running(process_of(bridge))
    assert [x for x in warnings if "too long for the path of a socket" in x]


def test_a_shared_server_asks_the_person_of_the_run(
    servers: WarmServers, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(warm.WARM_VARIABLE, "1")
    servers.file.write_text(json.dumps({"mcpServers": {"asking": asking_entry(startTimeout=60)}}))
    with Bridge.open(servers.file, answer=lambda _: Answer("accept", {"colour": "red"})) as bridge:
        assert "red" in bridge.call_tool("asking", "ask", form()).text
    (process,) = servers.processes()
    assert [x["state"] for x in process["servers"]] == ["ready"]


@pytest.mark.parametrize(
    "entry", [{"url": "http://127.0.0.1:9/mcp"}, {"command": "notes", "keepWarm": 0}]
)
def test_servers_behind_a_url_and_servers_with_state_are_not_shared(
    entry: dict[str, Any], servers: WarmServers, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(warm.WARM_VARIABLE, "1")
    servers.file.write_text(json.dumps({"mcpServers": {"notes": entry}}))
    settings = load_settings(servers.file)
    assert warm.WarmRoute(settings, pytest.fail)(settings.sources["notes"]).through == ()
    assert servers.folders() == []


@pytest.mark.parametrize("is_on", ["1", "0"])
def test_changed_settings_need_a_new_bridge_if_another_process_keeps_the_servers(
    servers: WarmServers, monkeypatch: pytest.MonkeyPatch, is_on: str
):
    """That process belongs to the old settings."""
    monkeypatch.setenv(warm.WARM_VARIABLE, is_on)
    with Bridge(load_settings(servers.file)) as bridge:
        assert bridge.run(Operations.renew, load_settings(servers.file))
        changed = json.loads(servers.file.read_text())
        changed["mcpServers"]["more"] = {"command": "more"}
        servers.file.write_text(json.dumps(changed))
        assert bridge.run(Operations.renew, load_settings(servers.file)) == (is_on == "0")
