"""Converts the nodes of xai-agent to nodes of this library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ...core.json import JsonObject
from ...core.util import LIBRARY
from ...drawing.components import ComponentClass
from ...drawing.nodes import DYNAMIC
from ...drawing.sizes import Point
from ...drawing.workflow import component_node, node_json
from .workflow import (
    AdoptedNode,
    AdoptedWorkflow,
    Remark,
    library_of,
    path_of,
    port_name,
    port_type,
)

_UPSTREAM = "xai_agent"  # xai-agent's folder; some people renamed it, such as xai_agent_old
_FILE = "agent_components.py"  # the file with all its classes
_WORDS = ("name", "label", "varName", "dataType")  # what the class decides about a port


class _Match(NamedTuple):
    """A new node, its ports with those of the old node, and wired ports that it lacks."""

    fresh: JsonObject
    ports: list[tuple[JsonObject, list[JsonObject]]]
    unknown: list[JsonObject]


def convert_nodes(
    workflow: AdoptedWorkflow, classes: Mapping[str, ComponentClass]
) -> tuple[list[AdoptedNode], list[Remark]]:
    """Replace the classes of nodes with ours from `classes`; wires and values stay.

    A node of xai-agent is always converted. A node of another library with the name of one of our
    classes is converted only if our class has a port for everything wired to it.
    """
    adopted, remarks = list[AdoptedNode](), list[Remark]()
    for node_id, node in workflow.components():
        path, cls = path_of(node), classes.get(node["name"])
        if library_of(path) == LIBRARY:
            continue
        if cls is None:
            remarks += _unknown_node(node_id, node) if is_upstream(path) else []
            continue
        match = _match_ports(node_id, node, cls)
        if match.unknown and not is_upstream(path):
            remarks.append(_unchanged_node(node_id, node, match.unknown))
            continue
        _convert(workflow, node_id, match)
        adopted.append(AdoptedNode(cls.name, node_id))
        remarks += _unknown_ports(node_id, cls, match.unknown)
    return adopted, remarks


def is_upstream(path: str) -> bool:
    """Return whether the path of a class is in xai-agent's folder."""
    return any(_UPSTREAM in folder for folder in path.split("/")[:-1])


def _match_ports(node_id: str, node: JsonObject, cls: ComponentClass) -> _Match:
    fresh = node_json(component_node(cls, node_id), Point(node["x"], node["y"]))
    ports: dict[tuple[bool, str], tuple[JsonObject, list[JsonObject]]] = {
        (x["in"], port_name(x)): (x, []) for x in fresh["ports"]
    }
    unknown: list[JsonObject] = []
    for port in node["ports"]:
        entry = ports.get((port["in"], port_name(port)))
        if entry and _fits(port, entry[0]) and (not entry[1] or entry[0]["dataType"] in DYNAMIC):
            entry[1].append(port)
        elif port["links"]:
            unknown.append(port)
    return _Match(fresh, list(ports.values()), unknown)


def _fits(port: JsonObject, ours: JsonObject) -> bool:
    """Return whether both ports take one value, or both take several of one type."""
    types = {port_type(port), ours["dataType"]}
    return len(types) == 1 or not types & {*DYNAMIC}


def _convert(workflow: AdoptedWorkflow, node_id: str, match: _Match) -> None:
    node, ports = workflow.nodes[node_id], list[JsonObject]()
    for ours, matches in match.ports:
        if ours["dataType"] not in DYNAMIC:
            for port in matches:
                port |= {x: ours[x] for x in _WORDS}
        ports += matches or [ours]
    node["extras"] |= match.fresh["extras"]
    node["color"] = match.fresh["color"]
    workflow.set_ports(node_id, [*ports, *match.unknown])


def _unknown_node(node_id: str, node: JsonObject) -> Iterator[Remark]:
    text = (
        "there is no such node here. It stays as it is, needs xai-agent to be installed, "
        "and knows nothing of the agents of these nodes: find another way to do its work."
    )
    if not path_of(node).endswith(f"/{_FILE}"):
        text += " If its class is your own, move its file before you remove xai-agent."
    yield Remark(node["name"], node_id, text)


def _unchanged_node(node_id: str, node: JsonObject, unknown: list[JsonObject]) -> Remark:
    wired = ", ".join(f"`{port_name(x)}`" for x in unknown)
    library = library_of(path_of(node)) or path_of(node)
    text = f"it is of {library} and has other ports ({wired}) than ours of that name. It stays."
    return Remark(node["name"], node_id, text, to_do=False)


def _unknown_ports(
    node_id: str, cls: ComponentClass, unknown: list[JsonObject]
) -> Iterator[Remark]:
    for name in map(port_name, unknown):
        text = f"ours has no port `{name}` that fits. Remove its link: the run would stop there."
        yield Remark(cls.name, node_id, text, port=name)
