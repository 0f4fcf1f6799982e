"""The nodes of xai-agent that its example uses, and one that we have no counterpart for."""

from xai_components.base import (
    BaseComponent,
    Component,
    InArg,
    InCompArg,
    OutArg,
    dynalist,
    xai_component,
)


class Memory:
    """A type of its own: the canvas wires it to nothing but itself."""


@xai_component
class AgentNumpyMemory(Component):
    """A memory in this process."""

    memory: OutArg[Memory]


@xai_component(type="Start", color="red")
class AgentDefineTool(Component):
    """Begins a tool."""

    tool_name: InCompArg[str]
    description: InCompArg[str]
    for_toolbelt: InArg[str]

    tool_input: OutArg[str]
    tool_args: OutArg[dict]


@xai_component(color="red")
class AgentToolOutput(Component):
    """Ends a tool."""

    results: InArg[dynalist]


@xai_component
class AgentMakeToolbelt(Component):
    """Collects tools."""

    name: InArg[str]
    toolbelt_spec: OutArg[dict]


@xai_component
class AgentInit(Component):
    """Sets up an agent."""

    agent_name: InCompArg[str]
    agent_provider: InCompArg[str]
    agent_model: InCompArg[str]
    agent_memory: InCompArg[Memory]
    system_prompt: InCompArg[str]
    max_thoughts: InArg[int]
    toolbelt_spec: InCompArg[dict]


@xai_component
class AgentRun(Component):
    """Runs an agent."""

    on_thought: BaseComponent

    agent_name: InCompArg[str]
    conversation: InCompArg[any]

    out_conversation: OutArg[list]
    last_response: OutArg[str]


@xai_component
class AgentRouter(Component):
    """Chooses a route."""

    agent_name: InCompArg[str]
    conversation: InArg[list]
    final_context_key: InArg[str]

    result: OutArg[any]
    chosen_flow_name: OutArg[str]


@xai_component
class AgentMeditate(Component):
    """Something that only this library has."""

    minutes: InArg[int]
