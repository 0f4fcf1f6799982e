"""Writes `.xircuits` files from a short description, as the canvas itself would save them.

    flow = Workflow("greeting", classes)
    agent = flow.node("AgentInit", agent_name="helper")
    run = flow.node("AgentRun", agent_name="helper", conversation=LiteralNode("Hello!"))
    show = flow.node("Print", msg=run["last_response"])
    flow.main(agent, run, show)
    flow.note("Ask", "Double-click the text to change it.", below=run)
    flow.write(folder)

Ports come from the component files, so a missing port is an error here. Ids come from names: the
same description gives the same file, byte for byte.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

from ..core.json import as_list, is_list
from .components import ComponentClass, PortSpec
from .document import Document, Item, document_text
from .layout import Layout, lay_out
from .nodes import (
    COMPULSORY_MARK,
    DYNAMIC,
    FLOW,
    FLOW_LABEL,
    VALUE,
    Comment,
    Link,
    Node,
    OutPort,
    Port,
    stable_id,
)
from .rules import name_problem
from .sizes import Point, note_text_width, port_point, widest_note_text

# As in Xircuits' palette: name and colour of a literal by its type.
_LITERALS = {
    "string": ("String", "lightpink"), "int": ("Integer", "blue"), "float": ("Float", "green"),
    "boolean": ("Boolean", "red"), "list": ("List", "yellow"), "dict": ("Dict", "orange"),
    "chat": ("Chat", "green"),
}  # fmt: skip
_TERMINAL_COLOR, _NOTE_COLOR = "rgb(255,102,102)", "rgb(255,255,255)"


class WorkflowError(Exception):
    """The description cannot become a workflow; the message names node and port."""


@dataclass(frozen=True)
class LiteralNode:
    """Literal with a node of its own; a bare value sits inside the port instead.

    The node stands below its port, or `above` the previous node.
    """

    value: Any
    above: bool = False


Source: TypeAlias = tuple[Node, Port, str]
"""Node and port of a value, and the kind of its link."""


class Workflow:
    """Workflow under construction; `name` becomes the file's and, compiled, a class's name.

    `classes` are its components by name.
    """

    def __init__(self, name: str, classes: Mapping[str, ComponentClass]) -> None:
        self.name = name
        self._classes = classes
        self.nodes: list[Node] = []
        self.links: list[Link] = []
        self._flows: list[Sequence[Node]] = []
        self._notes: list[Comment] = []
        self._counts: Counter[str] = Counter()
        self.start = self._add(
            Node(self._key("Start"), "Start", _TERMINAL_COLOR, {"type": "Start"})
        )
        self.start.add("out-0", FLOW_LABEL, is_in=False)
        finish = Node(self._key("Finish"), "Finish", _TERMINAL_COLOR, {"type": "Finish"})
        self.finish = self._add(finish)
        self.finish.add("in-0", FLOW_LABEL, is_in=True)
        _add_port(self.finish, PortSpec("outputs", "in", "dynalist"))

    # Description

    def node(self, class_name: str, **inputs: Any) -> Node:
        """Add a component and wire its in-ports.

        A port takes an `OutPort`, `LiteralNode` or a value; a dynamic port a list of these.
        """
        if (cls := self._classes.get(class_name)) is None:
            raise KeyError(f"no component {class_name!r} among {len(self._classes)} classes")
        node = self._add(component_node(cls, self._key(class_name)))
        for name, value in inputs.items():
            if not cls.port(name).is_in:
                raise WorkflowError(f"{class_name}.{name} is no input")
            self._connect(node, name, value)
        return node

    def main(self, *nodes: Node) -> None:
        """Add the flow from Start through these nodes to Finish."""
        self.flow(self.start, *nodes, self.finish)

    def flow(self, *nodes: Node) -> None:
        """Add a flow through these nodes."""
        for source, target in itertools.pairwise(nodes):
            self._link(source, source.port("out-0"), target, target.port("in-0"), FLOW)
        self._flows.append(nodes)

    def outputs(self, *values: OutPort) -> None:
        """Wire these outputs to Finish; a compiled script prints them at its end."""
        self._connect(self.finish, "outputs", list(values))

    def note(
        self, title: str, text: str, *, above: Node | None = None, below: Node | None = None
    ) -> None:
        """Add a comment above or below a node; the canvas does not break its lines."""
        if "`" in text:
            raise WorkflowError(f"{title}: a comment is no Markdown: {text}")
        for line in text.splitlines():
            if note_text_width(line) > widest_note_text():
                raise WorkflowError(f"{title}: too long for a line of a comment: {line}")
        extras = {"type": "comment", "commentInput": text}
        node = self._add(Node(self._key("comment"), title, _NOTE_COLOR, extras))
        owner = above or below
        assert owner is not None
        self._notes.append(Comment(node, owner, is_below=above is None))

    # Output

    def layout(self) -> Layout:
        """Return the positions of all nodes and links."""
        return lay_out(self._flows, self._notes, self.links)

    def document(self) -> Document:
        """Return the workflow as the canvas saves it.

        Raises:
            WorkflowError: a workflow cannot have this name.
        """
        if problem := name_problem(self.name, {x.name for x in self.nodes}):
            raise WorkflowError(problem)
        layout = self.layout()
        view = layout.view()
        return {
            "id": stable_id(self.name),
            "offsetX": view.x,
            "offsetY": view.y,
            "zoom": view.zoom,
            "gridSize": 0,
            "layers": [
                self._layer("diagram-links", {x.id: _link_json(x, layout) for x in self.links}),
                self._layer(
                    "diagram-nodes", {x.id: node_json(x, layout.place(x)) for x in self.nodes}
                ),
            ],
        }

    def text(self) -> str:
        """Return the text of the file."""
        return f"{document_text(self.document())}\n"

    def write(self, folder: Path) -> Path:
        """Write `<name>.xircuits` into `folder` and return its path."""
        file = folder / f"{self.name}.xircuits"
        file.write_text(self.text(), encoding="utf-8", newline="\n")
        return file

    # Construction

    def _key(self, name: str) -> str:
        """Return the key of the next node of this name."""
        self._counts[name] += 1
        number = self._counts[name]
        return f"{self.name}/{name}" + (f"-{number}" if number > 1 else "")

    def _add(self, node: Node) -> Node:
        self.nodes.append(node)
        return node

    def _connect(self, node: Node, name: str, value: Any) -> None:
        first = next(x for x in node.ports if x.is_in and x.variable == name)
        many = first.type in DYNAMIC and is_list(value)
        for one in as_list(value) if many else [value]:
            target = _free_port(node, first)
            source, out, kind = self._source(one, node, target)
            if not fits(out.type, target.type):
                ends = f"{source.key}: {out.type} does not fit {node.key}.{target.label}"
                raise WorkflowError(ends)
            self._link(source, out, node, target, kind)

    def _source(self, value: Any, node: Node, target: Port) -> Source:
        """Return the source of a value for this port of a node: another node, or a new literal."""
        if isinstance(value, OutPort):
            return value.node, _out_port(value), VALUE
        has_node = isinstance(value, LiteralNode)
        kind, text = _literal_of(value.value if has_node else value, target, node)
        key = f"{node.key.partition('/')[2]}/{target.variable}{target.order or ''}"
        literal = self._add(literal_node(kind, text, self._key(key), is_attached=not has_node))
        if has_node:
            literal.stands_above = value.above
            node.literals.append(literal)
        else:
            target.literal = text
        return literal, literal.port("out-0"), VALUE

    def _link(self, source: Node, out: Port, target: Node, into: Port, kind: str) -> None:
        ends = f"{source.key}/{out.name} -> {target.key}/{into.name}"
        link = Link(stable_id(ends), kind, source, out, target, into)
        self.links.append(link)
        out.links.append(link.id)
        into.links.append(link.id)

    def _layer(self, kind: str, models: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": stable_id(f"{self.name}/{kind}"), "type": kind, "isSvg": kind == "diagram-links",
            "transformed": True, "models": models,
        }  # fmt: skip


# Other types that an in-port takes, besides its own and `any`.
_ALSO_TAKES = {
    "string": {"secret"}, "int": {"secret"}, "float": {"secret"},
    "secret": {"string", "int", "float"}, "list": {"chat"}, "chat": {"list"},
}  # fmt: skip


def fits(source: str, target: str) -> bool:
    """Return whether the canvas allows a wire from type `source` to type `target`."""
    return (
        source == target
        or "any" in (source, target)
        or target in DYNAMIC
        or source in _ALSO_TAKES.get(target, set())
    )


def component_node(cls: ComponentClass, key: str) -> Node:
    """Return a node of a class, without links."""
    first, last = cls.lines
    extras = {
        "type": cls.type, "path": cls.path, "description": cls.description,
        "lineNo": [{"lineno": first, "end_lineno": last}],
    }  # fmt: skip
    node = Node(key, cls.name, cls.color, extras)
    if cls.type != "Start":
        node.add("in-0", FLOW_LABEL, is_in=True)
    node.add("out-0", FLOW_LABEL, is_in=False)
    for port in cls.ports:
        _add_port(node, port)
    return node


def literal_node(kind: str, text: str, key: str, *, is_attached: bool) -> Node:
    """Return a literal; an attached one is shown inside the port that it is wired to."""
    name, color = _LITERALS[kind]
    node = Node(key, f"Literal {name}", color, {"type": kind, "attached": is_attached})
    node.add("out-0", text, is_in=False, type=kind)
    return node


def _add_port(node: Node, port: PortSpec) -> None:
    if port.kind == "branch":
        node.add(f"out-flow-{port.name}", f"{port.name} {FLOW_LABEL}", is_in=False)
    elif port.kind == "out":
        file_name = f"parameter-out-{port.type}-{port.name}"
        node.add(file_name, port.name, is_in=False, type=port.type)
    else:
        mark = COMPULSORY_MARK if port.kind == "compulsory" else ""
        node.add(
            f"parameter-{port.type}-{port.name}", mark + port.name, is_in=True, type=port.type,
            variable=port.name, order=0 if port.type in DYNAMIC else None,
        )  # fmt: skip


def _free_port(node: Node, port: Port) -> Port:
    """Return the port itself; for a dynamic one, its free part, and add the next part."""
    if port.type not in DYNAMIC:
        return port
    *_, port = (x for x in node.ports if x.is_in and x.variable == port.variable)
    order = (port.order or 0) + 1
    following = node.add(
        f"parameter-{port.type}-{port.variable}-{order}", f"{port.variable}[{order}]", is_in=True,
        type=port.type, variable=port.variable, order=order, after=port,
    )  # fmt: skip
    port.after, following.before = following.id, port.id
    return port


def _out_port(output: OutPort) -> Port:
    for port in output.node.ports:
        if not port.is_in and port.label == output.port:
            return port
    raise WorkflowError(f"{output.node.name} has no output {output.port!r}")


def _literal_of(value: Any, target: Port, node: Node) -> tuple[str, str]:
    """Return the type of a literal and its text, which the compiler reads back as `value`."""
    match value:
        case str() if target.type == "secret":
            raise WorkflowError(f"{node.name}.{target.label}: a key does not belong in a file")
        case str():
            return "string", value
        case bool():
            return "boolean", str(value)
        case int() | float():
            return type(value).__name__, repr(value)
        case list() if target.type == "chat" or _are_messages(cast(list[Any], value)):
            return "chat", json.dumps(value, ensure_ascii=False)
        case dict() | list():
            kind = "dict" if isinstance(value, dict) else "list"
            return kind, json.dumps(value, ensure_ascii=False)[1:-1]
        case _:
            kind = type(value).__name__
            raise WorkflowError(f"{node.name}.{target.label}: there is no literal for {kind}")


def _are_messages(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(x, dict) and "role" in x for x in values)


def node_json(node: Node, at: Point) -> Item:
    """Return a node as a file has it, with its upper left corner `at`."""
    # The canvas saves in-ports first.
    ports = [x for x in node.ports if x.is_in] + [x for x in node.ports if not x.is_in]
    return {
        "id": node.id, "type": "custom-node", "selected": False, "extras": node.extras,
        "x": at.x, "y": at.y, "ports": [_port_json(node, x, at) for x in ports],
        "name": node.name, "color": node.color,
        "portsInOrder": [x.id for x in ports if x.is_in],
        "portsOutOrder": [x.id for x in ports if not x.is_in],
    }  # fmt: skip


def _port_json(node: Node, port: Port, at: Point) -> dict[str, Any]:
    place = port_point(node, port, at)
    fields: dict[str, Any] = {
        "id": port.id, "type": "default", "extras": {}, "x": place.x, "y": place.y,
        "name": port.name, "alignment": "left" if port.is_in else "right", "parentNode": node.id,
        "links": port.links, "in": port.is_in, "label": port.label,
        "varName": port.variable if port.order else port.label, "portType": "",
        "dataType": port.type,
    }  # fmt: skip
    if port.order is not None:
        neighbours = {"previous": port.before, "next": port.after}
        fields |= {"dynaPortOrder": port.order, "dynaPortRef": neighbours}
    return fields


def _link_json(link: Link, layout: Layout) -> Item:
    ends = (link.source.id, link.source_port.id), (link.target.id, link.target_port.id)
    return link_json(link.id, link.kind, *ends, layout.points(link))


def link_json(
    link_id: str, kind: str, out: tuple[str, str], into: tuple[str, str], points: Iterable[Point]
) -> Item:
    """Return a link as a file has it; its ends are the ids of node and port."""
    return {
        "id": link_id, "type": kind, "selected": False, "source": out[0], "sourcePort": out[1],
        "target": into[0], "targetPort": into[1],
        "points": [
            {"id": stable_id(f"{link_id}/{n}"), "type": "point", "x": point.x, "y": point.y}
            for n, point in enumerate(points)
        ],
        "labels": [], "width": 3, "color": "gray", "curvyness": 50,
        "selectedColor": "rgb(0,192,255)",
    }  # fmt: skip
