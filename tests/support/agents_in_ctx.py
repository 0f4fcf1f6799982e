"""Agents in a `ctx` as AgentInit sets them up, with what AgentModel says about their models.

init_agent(ctx, "a", provider="openai", model="m", base_url=endpoint.base_url)
"""

from __future__ import annotations

from typing import Any

from xai_mcp_agent.canvas import agents
from xai_mcp_agent.canvas.model_settings import gather_settings
from xai_mcp_agent.canvas.moved_ports import MOVED_TO_MODEL


def init_agent(ctx: dict[str, Any], name: str, **values: Any) -> None:
    """Set up an agent; all about its model may be said with the rest."""
    of_model = {x: values.pop(x) for x in MOVED_TO_MODEL["AgentInit"] if x in values}
    agents.init_agent(ctx, name, model_settings=gather_settings(of_model), **values)
