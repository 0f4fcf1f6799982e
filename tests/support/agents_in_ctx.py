"""Agents in a `ctx` as AgentInit sets them up, with what AgentModel says about their models.

init_agent(ctx, "a", provider="openai", model="m", base_url=endpoint.base_url)
"""

from __future__ import annotations

from inspect import signature
from typing import Any

from xai_mcp_agent.canvas import agents

_OF_AGENT = signature(agents.init_agent).parameters


def init_agent(ctx: dict[str, Any], name: str, **values: Any) -> None:
    """Set up an agent; all about its model may be said with the rest."""
    settings = {x: values.pop(x) for x in list(values) if x not in _OF_AGENT}
    agents.init_agent(ctx, name, model_settings=settings, **values)
