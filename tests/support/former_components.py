"""The classes as they were before AgentModel, for workflows that were drawn then."""

from __future__ import annotations

from dataclasses import replace

from tools.components import all_components
from xai_mcp_agent.drawing.components import ComponentClass, PortSpec

_NAMED = ("AgentInit", "AgentUpdate", "AgentRun", "AgentRunTool", "AgentLearn", "AgentRouter")
_ARRIVED = ("question", "model_settings", "new_model_settings")
_COMPULSORY = {("AgentRun", "conversation"), *((x, "agent_name") for x in _NAMED)}
_OF_UPDATE = ("base_url", "api_key", "tool_token_budget")


def former_components() -> dict[str, ComponentClass]:
    """All classes by name: AgentInit has its model's settings, agents must be named."""
    known = dict(all_components())
    settings = [x for x in known.pop("AgentModel").ports if x.is_in]
    own = [x for x in settings if x.name not in ("provider", "model")]
    of_update = [replace(x, name=f"new_{x.name}") for x in own if x.name in _OF_UPDATE]
    moved = {"AgentInit": own, "AgentUpdate": of_update}
    return known | {name: _former(known[name], moved.get(name, [])) for name in _NAMED}


def _former(cls: ComponentClass, more: list[PortSpec]) -> ComponentClass:
    ports = [
        replace(x, kind="compulsory") if (cls.name, x.name) in _COMPULSORY else x
        for x in cls.ports
        if x.name not in _ARRIVED
    ]
    first = [x for x in ports if x.name == "agent_name"]
    return replace(cls, ports=(*first, *(x for x in ports if x not in first), *more))
