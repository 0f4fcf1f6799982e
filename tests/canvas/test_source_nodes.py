"""The nodes that add sources to a toolbelt: entries of the settings, and what has none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from xai_components.base import Component

from tests.sources.workflows.drawings import draw
from tests.support.a2a_server import AgentServer, agents
from tests.support.bakery import bakery
from tests.support.canvas import agent_nodes, make, play
from tests.support.commands import write_settings
from tools.workflows import Argument
from xai_mcp_agent import BadSetting, UnknownServer
from xai_mcp_agent.agent_components import (
    AgentRunTool,
    AgentUseAgents,
    AgentUseBuiltinTools,
    AgentUseFunctions,
    AgentUseMCPTools,
    AgentUseOpenAPI,
    AgentUseWorkflow,
)

KEY = "sesame-open-please"
ORDER = {"customer": "Ada", "items": {"rye": 2}}


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with bakery("--key", KEY) as address:
        yield address


@pytest.fixture(scope="module")
def server() -> Iterator[AgentServer]:
    with agents() as running:
        yield running


@pytest.fixture(autouse=True)
def folder(
    service: str, server: AgentServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The folder of settings with a source of each kind."""
    spec = {"spec": f"{service}/openapi.json", "auth": {"apiKey": KEY}}
    job = {"file": "job.xircuits", "arguments": {"more": "settings"}}
    home = tmp_path / "settings"
    home.mkdir()
    write_settings(
        home,
        {"off": {"command": "a", "disabled": True}, "builtin": {"command": "a"}},
        functions={"mine": {"file": "mine.py"}, "broken": {}},
        openapiServices={"bakery": spec},
        agents={"painter": {"url": server.url("rpc")}},
        builtin={"handy": {"tools": ["calculate", "current_time"]}},
        workflows={"known": job},
    )
    text = "def double(x: int) -> int:\n    return 2 * x\n"
    (home / "mine.py").write_text(text, encoding="utf-8")
    draw(home, "result = [value, more]", value=Argument("value", "any"), more=Argument("more"))
    monkeypatch.setenv("XAI_MCP_SETTINGS", str(home / "mcp_settings.json"))
    monkeypatch.chdir(tmp_path)
    return home


def use_tool(tool: str, arguments: dict[str, Any], *nodes: Component, ctx: Any = None) -> str:
    """Call a tool of an agent with these nodes, without a model, and return its result."""
    node = make(AgentRunTool, agent_name="a", tool_name=tool, tool_args=arguments)
    play({} if ctx is None else ctx, *agent_nodes(*nodes), node)
    return node.tool_output.value


def test_a_source_of_each_kind_is_used_by_the_name_of_its_entry() -> None:
    ctx: dict[str, Any] = {}
    nodes = [
        make(AgentUseFunctions, functions_name="mine"),
        make(AgentUseFunctions, functions_name="mine"),
        make(AgentUseFunctions, functions_name="broken"),
        make(AgentUseOpenAPI, service_name="bakery"),
        make(AgentUseAgents, remote_agent="painter"),
        make(AgentUseBuiltinTools, builtin_name="handy", except_tools="*_time"),
        make(AgentUseWorkflow, workflow=" known\n"),
    ]
    for tool, arguments, result in (
        ("mine_double", {"x": 21}, "42"),
        ("bakery_place_order", ORDER, '"total": 8.4'),
        ("painter_echo", {"message": "hello"}, "hello"),
        ("handy_calculate", {"expression": "6 * 7"}, "42"),
        ("handy_current_time", {}, "is not among"),
        ("known_job", {"value": 1}, '[1, "settings"]'),
    ):
        assert result in use_tool(tool, arguments, *nodes, ctx=ctx), tool
    names = ["mine", "broken", "bakery", "painter", "handy", "known"]
    assert ctx["sources_default"] == ctx["agent_a"]["enabled_sources"] == names
    assert ctx["agent_a"]["enabled_mcp_servers"] == []


@pytest.mark.parametrize(
    ("node", "words", "ports"),
    [
        (AgentUseMCPTools, "AgentUseFunctions", {"server_name": "mine"}),
        (AgentUseFunctions, "AgentUseMCPTools", {"functions_name": "off"}),
        (AgentUseAgents, "Known: painter", {"remote_agent": "paintr"}),
        (AgentUseOpenAPI, "needs `service_name`", {}),
        (AgentUseOpenAPI, "are in the settings", {"service_name": "bakery", "api_key": "x"}),
        (AgentUseOpenAPI, r"finds no file 'no\.json'", {"spec": "no.json"}),
        (AgentUseBuiltinTools, "but not both", {"tools": "calculate", "builtin_name": "handy"}),
        (AgentUseBuiltinTools, "Did you mean 'calculate'", {"tools": "calculator"}),
        (AgentUseBuiltinTools, "needs a `workspace`", {"tools": "read_file"}),
        (AgentUseWorkflow, "finds no file 'gone.x.*'. Looked for", {"workflow": "gone.xircuits"}),
        (AgentUseWorkflow, "Known: known.*Or set `workflow` to a file", {"workflow": "knwon"}),
        (AgentUseWorkflow, "has timeout for 'kn", {"workflow": "known", "timeout_seconds": 5}),
        (AgentUseWorkflow, "NOPE", {"workflow": "job.xircuits", "arguments": {"more": "${NOPE}"}}),
    ],
)
def test_a_mistake_is_reported_at_its_node(node: Any, words: str, ports: dict[str, Any]) -> None:
    with pytest.raises((BadSetting, UnknownServer), match=words):
        play({}, make(node, **ports))


def test_an_openapi_document_may_be_on_the_node(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The document is at an address, with some of its tools, or in a file beside the workflow."""
    monkeypatch.setenv("BAKERS_KEY", KEY)
    shop = make(
        AgentUseOpenAPI, spec=f"{service}/openapi.json", service_name="shop",
        api_key="${BAKERS_KEY}", except_tools="cancel_*, list_orders",
    )  # fmt: skip
    assert '"total": 8.4' in use_tool("shop_place_order", ORDER, shop)
    assert "is not among" in use_tool("shop_list_orders", {}, shop)
    paths = {"/products": {"get": {"operationId": "products", "responses": {}}}}
    document = {"openapi": "3.0.3", "info": {}, "paths": paths}
    (tmp_path / "small shop.json").write_text(json.dumps(document), encoding="utf-8")
    small = make(AgentUseOpenAPI, spec="small shop.json", base_url=service, api_key=KEY)
    refused = use_tool("small_shop_products", {}, small)
    assert "HTTP 401" in refused, "the document names no scheme, so no key is sent as one"


def test_an_agent_has_only_the_built_in_tools_that_were_named_for_it(folder: Path) -> None:
    """A second node with others is a source of its own, so that no other agent has them."""
    clock = make(AgentUseBuiltinTools, tools="current_time", toolbelt_name="other")
    again = make(AgentUseBuiltinTools, tools=" calculate, current_time ", except_tools="*_time")
    files = make(AgentUseBuiltinTools, tools="read_file, list_files", workspace="notes")
    notes = folder / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("hello", encoding="utf-8")
    for tool, arguments, result in (
        ("builtin_3_calculate", {"expression": "6 * 7"}, "42"),
        ("builtin_4_read_file", {"path": "a.txt"}, "hello"),
        ("builtin_4_write_file", {"path": "b.txt", "text": "x"}, "no tool 'builtin_4_write_file'"),
        ("builtin_2_current_time", {}, "not enabled for this agent"),
    ):
        assert result in use_tool(tool, arguments, clock, again, files), tool
    assert not (notes / "b.txt").exists()


def test_workflows_in_files_of_one_name_are_tools_of_their_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They stand beside the settings, or anywhere."""
    monkeypatch.setenv("SOME_VALUE", "from outside")
    (folder / "other").mkdir()
    draw(folder / "other", "result = 'other'")
    arguments = {"more": "${SOME_VALUE}"}
    nodes = [
        make(AgentUseWorkflow, workflow="job.xircuits", arguments=arguments, timeout_seconds=60),
        make(AgentUseWorkflow, workflow=str(folder / "other" / "job.xircuits")),
    ]
    assert use_tool("job", {"value": 1}, *nodes) == '[1, "from outside"]'
    assert use_tool("job_2_job", {"value": 1}, *nodes) == "other"
