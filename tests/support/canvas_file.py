"""What the canvas and the compiler of Xircuits demand of a `.xircuits` file.

Each rule was found by breaking it, in Xircuits 1.19.2: the canvas then shows an empty page or
drops a link, the compiler fails, or, worst, values are silently missing when the script runs.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import tinycss2.color4

from tools.components import all_components
from xai_mcp_agent.drawing import rules
from xai_mcp_agent.drawing.document import Document, Item
from xai_mcp_agent.drawing.nodes import COMPULSORY_MARK, FLOW, FLOW_LABEL, VALUE
from xai_mcp_agent.drawing.rules import Classes
from xai_mcp_agent.drawing.workflow import fits

__all__ = [
    "Document", "fits", "lead_back", "links_by_name", "links_of", "load", "nodes_of", "problems",
]  # fmt: skip

_PORT_KEYS = ("id", "name", "label", "varName", "dataType", "in", "links", "parentNode")
_LINK_KEYS = ("id", "type", "source", "sourcePort", "target", "targetPort", "points", "color")
_NODE_KEYS = ("id", "type", "extras", "x", "y", "name", "color", "ports")


def load(file: Path) -> Document:
    """Read a workflow file."""
    return json.loads(file.read_text(encoding="utf-8"))


def nodes_of(document: Document) -> list[Item]:
    """Return the nodes of a file."""
    return list(document["layers"][1]["models"].values())


def links_of(document: Document) -> list[Item]:
    """Return the links of a file, also those that lost an end."""
    return list(document["layers"][0]["models"].values())


def problems(document: Document, name: str, classes: Classes | None = None) -> list[str]:
    """Return the problems of a file called `<name>.xircuits`, as sentences.

    `classes` are those that are installed, by name: ours and Xircuits' by default.
    """
    kinds = [layer["type"] for layer in document["layers"]]
    if kinds != ["diagram-links", "diagram-nodes"]:
        return [f"the layers are {kinds}: the canvas wants links, then nodes"]
    if missing := [*_keys(document)]:
        return missing
    return [
        *rules.problems(document, name, all_components() if classes is None else classes),
        *(x for rule in (_identities, _ports, _links, _values, _colors) for x in rule(document)),
    ]


def links_by_name(document: Document) -> list[tuple[str, str, str]]:
    """Return links by the names of their ends: a node that is reloaded has new ids."""
    names = {
        port["id"]: f"{node['name']}.{port['name']}"
        for node in nodes_of(document)
        for port in node["ports"]
    }
    return sorted(
        (link["type"], names[link["sourcePort"]], names[link["targetPort"]])
        for link in links_of(document)
    )


def lead_back(document: Document, later: str, earlier: str) -> None:
    """Draw an arrow from a node to an earlier one, by their names: Xircuits runs it for ever."""
    nodes = {x["name"]: x for x in nodes_of(document)}
    start = next(x for x in nodes[later]["ports"] if x["name"] == "out-0")
    end = next(x for x in nodes[earlier]["ports"] if x["name"] == "in-0")
    flow = next(x for x in links_of(document) if x["type"] == "triangle-link")
    document["layers"][0]["models"]["back"] = flow | {
        "id": "back", "source": nodes[later]["id"], "sourcePort": start["id"],
        "target": nodes[earlier]["id"], "targetPort": end["id"],
    }  # fmt: skip
    for port in (start, end):
        port["links"].append("back")


def _colors(document: Document) -> Iterator[str]:
    for name, color in {(x["name"], x["color"]) for x in nodes_of(document)}:
        if tinycss2.color4.parse_color(color) is None:
            yield f"{name}: no colour {color!r}; the canvas would be blank"


def _keys(document: Document) -> Iterator[str]:
    for node in nodes_of(document):
        yield from _missing(node, _NODE_KEYS)
        for port in node["ports"]:
            yield from _missing(port, _PORT_KEYS)
    for link in links_of(document):
        yield from _missing(link, _LINK_KEYS)


def _missing(item: Item, keys: tuple[str, ...]) -> Iterator[str]:
    name = item.get("name") or item.get("id")
    yield from (f"{name}: no {key!r}" for key in keys if key not in item)


def _identities(document: Document) -> Iterator[str]:
    nodes, links = nodes_of(document), links_of(document)
    ports = [port for node in nodes for port in node["ports"]]
    for what, items in {"node": nodes, "port": ports, "link": links}.items():
        counts = Counter(item["id"] for item in items)
        yield from (f"two {what}s have the id {x}" for x, count in counts.items() if count > 1)


def _ports(document: Document) -> Iterator[str]:
    for node in nodes_of(document):
        names = Counter(port["name"] for port in node["ports"])
        yield from (f"{node['name']}: two ports {x}" for x, n in names.items() if n > 1)
        for key, is_in in (("portsInOrder", True), ("portsOutOrder", False)):
            if node.get(key) != [port["id"] for port in node["ports"] if port["in"] is is_in]:
                yield f"{node['name']}: {key} is not the order of its ports"
        for port in node["ports"]:
            where = f"{node['name']}.{port['label']}"
            if port["parentNode"] != node["id"]:
                yield f"{where}: belongs to another node"
            if port["in"] and len(port["links"]) > 1 and port["dataType"]:
                yield f"{where}: more than one value"


def _links(document: Document) -> Iterator[str]:
    ports = {port["id"]: port for node in nodes_of(document) for port in node["ports"]}
    owners = {port["id"]: node for node in nodes_of(document) for port in node["ports"]}
    pairs = {(port["id"], link) for port in ports.values() for link in port["links"]}
    for link in links_of(document):
        ends = [(link["sourcePort"], link["source"]), (link["targetPort"], link["target"])]
        if any(port not in ports or owners[port]["id"] != node for port, node in ends):
            yield f"link {link['id']}: leads to a port that is not there"
            continue
        pairs -= {(port, link["id"]) for port, _ in ends}
        source, target = ports[link["sourcePort"]], ports[link["targetPort"]]
        yield from _link(link, source, target, owners[source["id"]])
    yield from (f"{ports[port]['name']}: lists a link that is not its own" for port, _ in pairs)


def _link(link: Item, source: Item, target: Item, owner: Item) -> Iterator[str]:
    where = f"link from {owner['name']}.{source['label']} to {target['label']}"
    is_flow = FLOW_LABEL in source["label"]
    if link["type"] != (FLOW if is_flow else VALUE):
        yield f"{where}: is a {link['type']}; the compiler would not see it"
    if len(link["points"]) < 2:
        yield f"{where}: has no points; the canvas would be blank"
    if any(link["id"] not in port["links"] for port in (source, target)):
        yield f"{where}: is not listed by both ports; it would not be compiled"
    if source["in"] or not target["in"]:
        yield f"{where}: runs backwards"
    # Older canvases saved a literal's port without a type.
    if not is_flow and source["dataType"] and not fits(source["dataType"], target["dataType"]):
        yield f"{where}: {source['dataType']} does not fit {target['dataType']}"


def _values(document: Document) -> Iterator[str]:
    for node in nodes_of(document):
        if not node["name"].startswith("Literal "):
            continue
        text, kind = node["ports"][0]["label"], node["extras"]["type"]
        brackets = {"dict": "{}", "list": "[]"}.get(kind, "")
        if COMPULSORY_MARK in text or FLOW_LABEL in text:
            yield f"{node['name']}: {text!r} has a sign that the compiler takes out"
        if kind in ("dict", "list", "chat") and not _is_json(f"{brackets[:1]}{text}{brackets[1:]}"):
            yield f"{node['name']}: {text!r} is not JSON"
        if kind in ("int", "float") and not re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", text):
            yield f"{node['name']}: {text!r} is not a number"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
