"""A workflow file (.xircuits): reading it, following its wires, and drawing into it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...core.json import JsonObject
from ...core.util import COMPONENTS
from ...drawing.document import NoWorkflow, read_document
from ...drawing.nodes import COMPULSORY_MARK, FLOW, VALUE, Node, stable_id
from ...drawing.sizes import Point
from ...drawing.workflow import link_json, literal_node, node_json

_VALUE_PORT = "parameter-"
_TYPE = re.compile(rf"{_VALUE_PORT}(?:out-)?(.+?)-")
_INDEX = re.compile(r"\[\d+\]$")  # index of the further parts of a port that takes several values
_LITERAL_OFFSET = 100.0


@dataclass(frozen=True, slots=True)
class Remark:
    """Remark about a node. `to_do`: without it the workflow does not run as before."""

    node: str
    node_id: str
    text: str
    to_do: bool = True
    port: str = ""


@dataclass(frozen=True, slots=True)
class AdoptedNode:
    """Node that has a class of ours now."""

    node: str
    node_id: str


class AdoptedWorkflow:
    """Workflow that is changed in place. `ports` maps a port's id to its node's id and the port."""

    def __init__(self, document: JsonObject) -> None:
        self.document = document
        links, nodes = document["layers"]
        self.links: dict[str, JsonObject] = links["models"]
        self.nodes: dict[str, JsonObject] = nodes["models"]
        self.ports = {
            port["id"]: (node_id, port)
            for node_id, node in self.nodes.items()
            for port in node["ports"]
        }

    def components(self) -> Iterator[tuple[str, JsonObject]]:
        """Yield the nodes that have a class, with their ids."""
        return ((key, node) for key, node in self.nodes.items() if path_of(node))

    def link_to(self, port: JsonObject | None) -> JsonObject | None:
        """Return the link that leads to an in-port."""
        return self.links[port["links"][0]] if port and port["links"] else None

    def text_at(self, port: JsonObject | None) -> str | None:
        """Return the text of the literal that is wired to an in-port."""
        link = self.link_to(port)
        source = self.nodes[link["source"]] if link else {}
        return source["ports"][0]["label"] if source.get("name") == "Literal String" else None

    def targets(self, port: JsonObject) -> Iterator[tuple[str, JsonObject]]:
        """Yield the ports that an out-port leads to, with the ids of their nodes."""
        return (self.ports[self.links[x]["targetPort"]] for x in port["links"])

    # Drawing

    def add_node(self, node: Node, at: Point) -> JsonObject:
        """Add a node without wires, with its upper left corner `at`."""
        drawn = node_json(node, at)
        self.nodes[node.id] = drawn
        self.ports |= {x["id"]: (node.id, x) for x in drawn["ports"]}
        return drawn

    def add_literal(self, node_id: str, name: str, text: str, kind: str) -> JsonObject:
        """Add a literal for the port `name` of a node, and return its out-port."""
        node = self.nodes[node_id]
        literal = literal_node(kind, text, f"{node_id}/{name}/literal", is_attached=True)
        drawn = self.add_node(literal, Point(node["x"] - _LITERAL_OFFSET, node["y"]))
        return drawn["ports"][0]

    def set_ports(self, node_id: str, ports: list[JsonObject]) -> None:
        """Replace the ports of a node, in this order."""
        self.nodes[node_id] |= {
            "ports": [x | {"parentNode": node_id} for x in ports],
            "portsInOrder": [x["id"] for x in ports if x["in"]],
            "portsOutOrder": [x["id"] for x in ports if not x["in"]],
        }
        self.ports |= {x["id"]: (node_id, x) for x in self.nodes[node_id]["ports"]}

    def wire(self, out: JsonObject, port: JsonObject) -> None:
        """Add a link from an out-port to an in-port."""
        source, target = self.ports[out["id"]][0], self.ports[port["id"]][0]
        points = [Point(self.nodes[x]["x"], self.nodes[x]["y"]) for x in (source, target)]
        key = stable_id(f"{out['id']}/{port['id']}/link")
        self.links[key] = link_json(
            key, self.link_type(out, port), (source, out["id"]), (target, port["id"]), points
        )
        out["links"].append(key)
        port["links"].append(key)

    def link_type(self, out: JsonObject, port: JsonObject) -> str:
        """Return the type that the compiler expects of a link; arguments use the flow's type."""
        is_argument = self.nodes[self.ports[out["id"]][0]]["name"].startswith("Argument ")
        is_value = port["name"].startswith(_VALUE_PORT) and not is_argument
        return VALUE if is_value else FLOW


# Reading


def read_workflow(file: Path) -> AdoptedWorkflow:
    """Read a workflow.

    Raises:
        NoWorkflow: it cannot be read, is not a workflow, or two ports share an id.
    """
    workflow = AdoptedWorkflow(read_document(file))
    if len(workflow.ports) != sum(len(x["ports"]) for x in workflow.nodes.values()):
        raise NoWorkflow(
            f"{file}: two ports have one id, so it is unclear what is wired to which. "
            "Draw the copied node again in the lab."
        )
    return workflow


# Nodes and ports


def path_of(node: JsonObject) -> str:
    """Return the path of a component's class, with slashes; empty for other nodes."""
    path = node["extras"].get("path")
    return path.strip().replace("\\", "/") if isinstance(path, str) else ""


def library_of(path: str) -> str:
    """Return the library folder in the path of a class; empty if there is none."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == COMPONENTS else ""


def port_name(port: JsonObject) -> str:
    """Return the name of a port as its class declares it."""
    if not port["name"].startswith(_VALUE_PORT):
        return port["name"]
    return _INDEX.sub("", port["label"]).removeprefix(COMPULSORY_MARK)


def port_type(port: JsonObject) -> str:
    """Return the type of a port; for a file of an old Xircuits, take it from the port's name."""
    match = _TYPE.match(port["name"])
    return port.get("dataType") or (match[1] if match else "")


def in_port(node: JsonObject, name: str) -> JsonObject | None:
    """Return the in-port of a node with this name."""
    return next((x for x in node["ports"] if x["in"] and port_name(x) == name), None)
