"""Agents in a `ctx` as nodes set them up, with what AgentModel says about their models.

ctx = ctx_with("it")
init_agent(ctx, "a", provider="openai", model="m", base_url=endpoint.base_url)
"""

from __future__ import annotations

from inspect import signature
from typing import Any

from xai_mcp_agent.canvas import agents
from xai_mcp_agent.canvas.ports import DEFAULT_TOOLBELT
from xai_mcp_agent.canvas.sources import use_source
from xai_mcp_agent.canvas.toolbelts import SourceChoice
from xai_mcp_agent.core.tools import MCP

_OF_AGENT = signature(agents.init_agent).parameters


def use_server(ctx: dict[str, Any], server: str, toolbelt: str | None = None) -> None:
    """Add all tools of an MCP server to a toolbelt."""
    use_source(ctx, MCP, server, SourceChoice(toolbelt or DEFAULT_TOOLBELT))


def ctx_with(*servers: str) -> dict[str, Any]:
    """Return the context of a workflow that uses all tools of these servers."""
    ctx: dict[str, Any] = {}
    for name in servers:
        use_server(ctx, name)
    return ctx


def init_agent(ctx: dict[str, Any], name: str, **values: Any) -> None:
    """Set up an agent; options of its model are among the values."""
    settings = {x: values.pop(x) for x in list(values) if x not in _OF_AGENT}
    agents.init_agent(ctx, name, model_settings=settings, **values)
