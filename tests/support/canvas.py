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

from xai_mcp_agent.agent_components import (
    AgentDefineTool,
    AgentInit,
    AgentMakeToolbelt,
    AgentToolOutput,
)

C = TypeVar("C", bound=Component)


def make(component: type[C], **inputs: Any) -> C:
    """Return a node with these in-ports: an out-port of another node is wired, others are values.

    Inputs of AgentModel may be among them.
    """
    node = component()
    inputs = _with_model_settings(component, inputs)
    node.next = None
    for name, value in inputs.items():
        port = getattr(node, name)
        if isinstance(value, OutArg):
            port.connect(value)
        else:
            port.value = value
    return node


_AGENTS = {"AgentInit": "", "AgentUpdate": "new_"}


def _with_model_settings(component: type[Component], inputs: dict[str, Any]) -> dict[str, Any]:
    prefix = _AGENTS.get(component.__name__)
    own = component.__annotations__
    settings = {x.removeprefix(prefix or ""): y for x, y in inputs.items() if x not in own}
    if prefix is None or not settings:
        return inputs
    port = f"{prefix}model_settings"
    return {x: y for x, y in inputs.items() if x in own} | {port: settings}


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
    start = make(AgentDefineTool, tool_name=name, description=f"Does {name}.", **inputs)
    work = call(function, start.tool_input)
    return [start, work, make(AgentToolOutput, results=[work.result])]


def shout() -> list[Component]:
    """Return a drawn tool that writes a text in capitals."""
    return tool_nodes("shout", str.upper)


def agent_nodes(*using: Component, name: str = "a", **inputs: Any) -> list[Component]:
    """Return the nodes that set up an agent with the tools of these nodes and the drawn tools."""
    belt = make(AgentMakeToolbelt)
    agent = make(AgentInit, agent_name=name, **{"toolbelt_spec": belt.toolbelt_spec, **inputs})
    return [*using, belt, agent]
