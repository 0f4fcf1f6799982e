"""Descriptions of our workflows in a few lines; see `xai_mcp_agent.drawing.workflow`."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xai_mcp_agent.drawing import workflow
from xai_mcp_agent.drawing.components import ComponentClass
from xai_mcp_agent.drawing.nodes import FLOW, FLOW_LABEL, Node, Port
from xai_mcp_agent.drawing.workflow import LiteralNode, WorkflowError

from .components import all_components

__all__ = ["Argument", "LiteralNode", "Workflow", "WorkflowError"]

# As in Xircuits' palette.
_COLORS = {
    "string": "lightpink", "int": "blue", "float": "green", "boolean": "red", "list": "yellow",
    "dict": "orange", "chat": "green", "secret": "black", "any": "cyan",
}  # fmt: skip

_COLUMNS = 40  # of a comment: as wide as two nodes side by side


@dataclass(frozen=True)
class Argument:
    """An argument of the workflow; `type` is the canvas's name for its type."""

    name: str
    type: str = "string"


class Workflow(workflow.Workflow):
    """A workflow with our components and those of Xircuits by default, and several flows."""

    def __init__(self, name: str, classes: Mapping[str, ComponentClass] | None = None) -> None:
        super().__init__(name, all_components() if classes is None else classes)

    def side(self, *nodes: Node) -> None:
        """Draw a flow with a start of its own, such as a drawn tool."""
        self.flow(*nodes)

    def branch(self, node: Node, name: str, *nodes: Node) -> None:
        """Draw the flow of a branch of `node`."""
        self._link(node, node.port(f"out-flow-{name}"), nodes[0], nodes[0].port("in-0"), FLOW)
        self.flow(*nodes)

    def explain(
        self, node: Node, title: str, text: str, *, below: bool = False, columns: int = _COLUMNS
    ) -> None:
        """Add a comment over or below a node, broken into lines of so many characters."""
        lines = [x for line in text.split("\n") for x in textwrap.wrap(line, columns)]
        above = None if below else node
        self.note(title, "\n".join(lines), above=above, below=node if below else None)

    def leave_room(self, width: float, *, before: Node) -> None:
        """Leave this width of the row free to the left of a node, for others."""
        before.room_before = width

    def begin_row(self, node: Node) -> None:
        """Begin a row with a node."""
        node.begins_row = True

    def _source(self, value: Any, node: Node, target: Port) -> workflow.Source:
        if not isinstance(value, Argument):
            return super()._source(value, node, target)
        name = f"Argument ({value.type}): {value.name}"
        color = _COLORS[value.type]
        source = self._add(Node(self._key(name), name, color, {"type": value.type}))
        node.literals.append(source)
        out = source.add("parameter-out-0", FLOW_LABEL, is_in=False, type=value.type)
        return source, out, FLOW
