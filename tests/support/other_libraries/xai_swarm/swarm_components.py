"""Nodes that look like those of xai-agent."""

from xai_components.base import Component, InArg, InCompArg, OutArg, xai_component


@xai_component
class SwarmTool(Component):
    """A tool."""

    tool_name: InCompArg[str]
    description: InArg[str]
    for_toolbelt: InArg[str]


@xai_component
class SwarmMakeToolbelt(Component):
    """Collects tools."""

    name: InArg[str]
    toolbelt_spec: OutArg[dict]


@xai_component
class SwarmRun(Component):
    """Runs an agent."""

    agent_name: InCompArg[str]
    toolbelt_spec: InArg[dict]
    last_response: OutArg[str]
