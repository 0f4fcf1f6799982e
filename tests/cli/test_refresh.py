"""`xai-mcp-agent tools refresh`, with a real server whose tools change from start to start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.fault_server import entry
from tests.support.warm_python import warm_python
from xai_mcp_agent.cli.main import run

SERVER = """
import os
from mcp.server.mcpserver import MCPServer

server = MCPServer("shop", log_level="CRITICAL")
for name in os.environ["TOOLS"].split():
    server.add_tool(lambda: "ok", name=name, description=f"Does {name}.")
server.run()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a server that offers what the variable `TOOLS` names, and a broken one."""
    (tmp_path / "shop.py").write_text(SERVER)
    shop = {"command": warm_python(), "args": ["shop.py"], "env": {"TOOLS": "${TOOLS}"}}
    servers = {"shop": shop, "bad": {"command": "no-such-program-anywhere"}}
    (tmp_path / "mcp_settings.json").write_text(json.dumps({"mcpServers": servers}))
    monkeypatch.delenv("XAI_MCP_STORE", raising=False)
    monkeypatch.delenv("XAI_MCP_SETTINGS", raising=False)
    monkeypatch.setenv("TOOLS", "buy sell")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(capsys: Any, *words: str) -> tuple[int, str, str]:
    """Run the command; its exit status, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        run(["tools", "refresh", *words])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


@pytest.mark.usefixtures("folder")
def test_what_changed_since_last_time_is_reported_and_one_that_fails_stops_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    status, out, err = command(capsys)
    assert (status, out) == (1, "shop: 2 tools, listed for the first time\n")
    assert err.startswith("error: bad: ")
    status, out, _ = command(capsys, "shop")
    assert status == 0
    assert out.startswith("shop: 2 tools; nothing changed since 20")
    monkeypatch.setenv("TOOLS", "buy rent")
    _, out, _ = command(capsys, "shop")
    head, *lines = out.splitlines()
    assert head.startswith("shop: 2 tools; these changed since 20")
    assert lines
    assert all(x.startswith("  ") for x in lines)
    assert "shop.rent" in out
    assert "shop.sell" in out


def test_force_writes_every_tool_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    (tmp_path / "mcp_settings.json").write_text(json.dumps({"mcpServers": {"it": entry()}}))
    monkeypatch.chdir(tmp_path)
    command(capsys)
    status, out, _ = command(capsys, "--force", "--json")
    (told,) = json.loads(out)["servers"]
    assert (status, told["changes"], told["error"], told["trouble"]) == (0, [], "", "")
    with pytest.raises(SystemExit):
        run(["history", "show", "--tool", "echo", "--json"])
    changes = [x["change"] for x in json.loads(capsys.readouterr().out)]
    assert changes.count("confirmed") == 1


@pytest.mark.usefixtures("folder")
def test_without_a_place_for_the_history_it_is_done_all_the_same(capsys: Any):
    Path("taken").write_text("")
    status, out, _ = command(capsys, "shop", "--store", "taken/history.db")
    assert status == 0
    assert out.startswith("shop: 2 tools. What changed is not known: The history in ")
    assert command(capsys, "shap")[0] == 1
