"""Sections of the settings file beside that of the servers: `functions`, and names over all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xai_mcp_agent import Settings, UnknownServer, settings_from
from xai_mcp_agent.core.tools import AGENT, FUNCTIONS, MCP

FOLDER = Path("/srv/project")
SERVER = {"command": "a"}
FILE = {"file": "tools.py"}


def read(document: Any) -> Settings:
    return settings_from(document, folder=FOLDER, environ={"PLACE": "elsewhere"})


def test_servers_and_functions_stand_side_by_side() -> None:
    found = read({"mcpServers": {"s": SERVER}, "functions": {"f": FILE}, "store": "memory"})
    assert ([*found.sources], [*found.servers]) == (["s", "f"], ["s"])
    assert (found.kind_of("s"), found.kind_of("f"), found.kind_of("x")) == (MCP, FUNCTIONS, None)
    assert found.store == "memory"


@pytest.mark.parametrize("server", [SERVER, {}])
def test_a_name_that_another_section_has_is_a_problem_of_the_later_entry(server: Any) -> None:
    found = read({"mcpServers": {"x": server, "y": SERVER}, "functions": {"x": FILE, "f": FILE}})
    assert [*found.sources] == [*(["x"] if server else []), "y", "f"]
    if server:
        assert found.problems["x"].key_path == "functions.x"
        assert "another section" in found.problems["x"].problem
        assert found.problems["x"].fix == "Rename one of them."


def test_servers_and_agents_name_each_other() -> None:
    found = read({"mcpServers": {}, "agents": {"a": {"url": "https://example.org/agent"}}})
    with pytest.raises(UnknownServer, match="The one of that name is under `agents`"):
        found.source("a", MCP)
    with pytest.raises(UnknownServer, match="No agent 'b'"):
        found.source("b", AGENT)


def test_a_name_of_another_kind_is_reported_with_where_it_stands() -> None:
    found = read({"mcpServers": {"s": SERVER}, "functions": {"f": FILE, "bad": {}}})
    for name in ("f", "bad"):
        with pytest.raises(UnknownServer, match="is under `functions`"):
            found.server(name)
    with pytest.raises(UnknownServer) as caught:
        found.source("x")
    assert str(caught.value) == (
        "No source 'x' in settings given in Python. Known: bad, f, s. "
        "Correct the name, or add it under the section of its kind, such as `mcpServers`."
    )
