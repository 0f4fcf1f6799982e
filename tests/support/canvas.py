"""Nodes as a compiled script runs them, without compiling: `play(ctx, Node(...), Node(...))`.

run = make(AgentRun, agent_name="helper", conversation="Hello!")
show = make(Print, msg=run.last_response)
play({}, run, show)
"""

# No future import: the ports of Call would be None.
from collections.abc import Sequence
from typing import Any, TypeVar

from xai_components.base import (
    BaseComponent,
    Component,
    InArg,
    OutArg,
    SubGraphExecutor,
    xai_component,
)

from tests.support.model_endpoint import ReceivedRequest, Script, model_endpoint
from xai_mcp_agent.agent_components import (
    AgentDefineTool,
    AgentInit,
    AgentMakeToolbelt,
    AgentRun,
    AgentToolOutput,
    AgentUpdate,
    AgentUseMCPTools,
)

C = TypeVar("C", bound=Component)

_PREFIXES: dict[type[Component], str] = {AgentInit: "", AgentUpdate: "new_"}


def make(component: type[C], **inputs: Any) -> C:
    """Return a node with these in-ports: an out-port of another node is wired, others are values.

    Inputs of AgentModel may be among them.
    """
    node = component()
    node.next = None
    if (prefix := _PREFIXES.get(component)) is not None:
        others = [x for x in inputs if x not in component.__annotations__]
        settings = {x.removeprefix(prefix): inputs.pop(x) for x in others}
        inputs |= {f"{prefix}model_settings": settings} if settings else {}
    for name, value in inputs.items():
        port = getattr(node, name)
        if isinstance(value, OutArg):
            port.connect(value)
        else:
            port.value = value
    return node


def chain(*nodes: Component) -> SubGraphExecutor:
    """Return nodes in the order of their flow, as a branch port holds them."""
    for node, following in zip(nodes, [*nodes[1:], None], strict=True):
        node.next = following
    return SubGraphExecutor(nodes[0])


def play(ctx: dict[str, Any], *flow: Component, tools: Sequence[Sequence[Component]] = ()) -> None:
    """Run a flow as a compiled script does: first `init` of every start, then the nodes in order.

    `tools` are flows with a start of their own, each beginning with AgentDefineTool.
    """
    for tool in tools:
        chain(*tool)
    for tool in tools:
        tool[0].init(ctx)
    chain(*flow).do(ctx)


@xai_component
class Call(Component):
    """Calls a Python function with `value` and gives what it returns: any node of a person's."""

    value: InArg[any]
    result: OutArg[any]
    function: BaseComponent

    def execute(self, ctx) -> None:
        self.result.value = self.function(self.value.value)


def call(function: Any, value: Any = None) -> Call:
    """Return a node that calls `function` with the value of a port, or with `value`."""
    node = make(Call, value=value)
    node.function = function
    return node


def tool_nodes(name: str, function: Any, **inputs: Any) -> list[Component]:
    """Return the nodes of a drawn tool that applies `function` to its input."""
    inputs = {"description": f"Does {name}.", **inputs}
    start = make(AgentDefineTool, tool_name=name, **inputs)
    work = call(function, start.tool_input)
    return [start, work, make(AgentToolOutput, results=[work.result])]


def shout() -> list[Component]:
    """Return a drawn tool that writes a text in capitals."""
    return tool_nodes("shout", str.upper)


def asking_tool(name: str, *before: Component, agent: str = "", **inputs: Any) -> list[Component]:
    """Return the nodes of a drawn tool that asks an agent, by default the last, after these."""
    start = make(AgentDefineTool, tool_name=name, description="Asks.", **inputs)
    run = make(AgentRun, agent_name=agent, conversation=start.tool_input)
    return [start, *before, run, make(AgentToolOutput, results=[run.last_response])]


def agent_nodes(*using: Component | str, name: str = "a", **inputs: Any) -> list[Component]:
    """Return the nodes of an agent with the drawn tools and those of these nodes and servers."""
    uses = [make(AgentUseMCPTools, server_name=x) if isinstance(x, str) else x for x in using]
    belt = make(AgentMakeToolbelt)
    agent = make(AgentInit, agent_name=name, **{"toolbelt_spec": belt.toolbelt_spec, **inputs})
    return [*uses, belt, agent]


def ask_scripted(
    script: Script,
    *using: Component | str,
    run: AgentRun | None = None,
    ctx: dict[str, Any] | None = None,
    tools: Sequence[Sequence[Component]] = (),
    **inputs: Any,
) -> list[ReceivedRequest]:
    """Run an agent with a scripted model as `agent_nodes` has it; return what the model got."""
    with model_endpoint(script) as endpoint:
        agent = agent_nodes(*using, **endpoint.inputs, **inputs)
        play({} if ctx is None else ctx, *agent, run or make(AgentRun, question="Go."), tools=tools)
    return endpoint.requests
