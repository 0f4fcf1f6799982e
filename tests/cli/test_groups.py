"""`xai-mcp-agent tools list GROUP`: the tools of a group, by source, and what is not there."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from tests.support.fault_server import entry
from xai_mcp_agent.cli.main import app


def test_the_tools_of_a_group_are_listed_and_a_name_that_is_wrong_is_reported(tmp_path: Path):
    tools = [{"name": x, "inputSchema": {"type": "object"}} for x in ("get_a", "get_b", "set_a")]
    groups = {"g": {"selectors": [{"name": "get_*"}], "include": ["it/set_b"]}}
    file = tmp_path / "mcp_settings.json"
    servers = {"it": entry(tools=tools), "dead": entry(exit=3)}
    file.write_text(json.dumps({"mcpServers": servers, "groups": groups}), encoding="utf-8")
    told = CliRunner().invoke(app, ["tools", "list", "g", "--json", "--settings", str(file)])
    found = json.loads(told.stdout)
    assert {x: [tool["name"] for tool in y] for x, y in found["tools"].items()} == {
        "it": ["get_a", "get_b"]
    }
    assert list(found["failed"]) == ["dead"]
    assert told.exit_code == 1
    assert "'it/set_b', which is not there" in found["notes"][0]
