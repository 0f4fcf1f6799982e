"""The nodes of xai-agent that its example uses, and one that we have no counterpart for."""

from xai_components.base import (
    BaseComponent,
    Component,
    InArg,
    InCompArg,
    OutArg,
    dynalist,
    secret,
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
    metadata: InArg[dict]
    conversation: InCompArg[any]

    out_conversation: OutArg[list]
    last_response: OutArg[str]


@xai_component
class AgentLearn(Component):
    """Lets an agent note down what was said."""

    on_thought: BaseComponent

    agent_name: InCompArg[str]
    metadata: InArg[dict]
    conversation: InCompArg[any]

    out_conversation: OutArg[list]
    last_response: OutArg[str]


@xai_component
class AgentUpdate(Component):
    """Changes an agent."""

    agent_name: InCompArg[str]
    new_system_prompt: InArg[str]
    new_max_thoughts: InArg[int]


@xai_component
class AgentVectoMemory(Component):
    """A memory of a service."""

    api_key: InArg[secret]
    vector_space: InCompArg[str]
    initialize: InArg[bool]

    memory: OutArg[Memory]


@xai_component
class AgentUseMCPTools(Component):
    """Adds the tools of a server."""

    server_name: InCompArg[str]
    toolbelt_name: InArg[str]


@xai_component(type="Start", color="red")
class AgentDefineRoute(Component):
    """Begins a route."""

    agent_flow_name: InCompArg[str]
    description: InCompArg[str]

    conversation: OutArg[any]


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
