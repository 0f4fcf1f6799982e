"""What time and hands leave in a workflow's file: the forms of old versions, and odd wires."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from tests.support.canvas_file import Document, links_of, nodes_of

Wear: TypeAlias = Callable[[Document], None]
Item: TypeAlias = dict[str, Any]


# Versions of Xircuits


def of_2024(document: Document) -> None:
    """As of 2024: component nodes are `debug`, out-ports have no type but in their names."""
    for node in nodes_of(document):
        if node["extras"].get("type") == "library_component":
            node["extras"]["type"] = "debug"
        node["extras"].pop("attached", None)
        for port in node["ports"]:
            if not port["in"]:
                port["dataType"] = ""


def of_a_script(document: Document) -> None:
    """As a script wrote it: wires of other types, no marks, no description."""
    for node in nodes_of(document):
        for key in ("description", "lineNo"):
            node["extras"].pop(key, None)
        for port in node["ports"]:
            port["label"] = port["label"].removeprefix("\u2605")
            port["varName"] = port["varName"].removeprefix("\u2605")
    names = {x["id"]: x["name"] for x in nodes_of(document)}
    for link in links_of(document):
        if names[link["source"]].startswith("Literal "):
            is_dict = names[link["source"]] == "Literal Dict"
            link["type"] = "default" if is_dict else "triangle-link"


def searched(document: Document) -> None:
    """As of 2025: a search in the lab left its marks, and all nodes are selected."""
    for node in nodes_of(document):
        node["selected"] = True
        node["extras"] |= {"isMatch": False, "isSelectedMatch": False}


def out_ports_first(document: Document) -> None:
    """The ports of a node in another order than it shows them."""
    for node in nodes_of(document):
        node["ports"].sort(key=lambda port: port["name"] != "out-0")


def without_ports(*names: str) -> Wear:
    """Ports that the library did not have yet, unless something is wired to them."""

    def wear(document: Document) -> None:
        for node in nodes_of(document):
            gone = [x for x in node["ports"] if x["varName"] in names and not x["links"]]
            node["ports"] = [x for x in node["ports"] if x not in gone]
            for order in ("portsInOrder", "portsOutOrder"):
                node[order] = [x for x in node[order] if x not in [y["id"] for y in gone]]

    return wear


# Hands


def shared(*texts: str) -> Wear:
    """One literal for all ports that have this text."""

    def wear(document: Document) -> None:
        for text in texts:
            _share(document, text)

    return wear


def secrets(*texts: str) -> Wear:
    """Literals that are keys."""

    def wear(document: Document) -> None:
        for node in _literals(document, *texts):
            node["name"], node["extras"]["type"] = "Literal Secret", "secret"
            node["ports"][0]["dataType"] = "secret"

    return wear


def dangling(document: Document) -> None:
    """A literal that nothing is wired to."""
    port = {
        "id": "lone-out", "type": "default", "extras": {}, "x": 0, "y": 0, "name": "out-0",
        "alignment": "right", "parentNode": "lone", "links": [], "in": False, "label": "True",
        "varName": "True", "portType": "", "dataType": "boolean",
    }  # fmt: skip
    document["layers"][1]["models"]["lone"] = {
        "id": "lone", "type": "custom-node", "selected": False, "x": 0, "y": 0, "ports": [port],
        "extras": {"type": "boolean", "attached": False}, "name": "Literal Boolean",
        "color": "red", "portsInOrder": [], "portsOutOrder": ["lone-out"],
    }  # fmt: skip


def doubled(*names: str) -> Wear:
    """Draw a second wire between the same two ports, for each in-port of these names."""

    def wear(document: Document) -> None:
        ports = {port["id"]: port for node in nodes_of(document) for port in node["ports"]}
        for link in links_of(document):
            if ports[link["targetPort"]]["varName"].removeprefix("\u2605") not in names:
                continue
            key = f"twin of {link['id']}"
            document["layers"][0]["models"][key] = json.loads(json.dumps(link)) | {"id": key}
            for end in ("sourcePort", "targetPort"):
                ports[link[end]]["links"].append(key)

    return wear


def loose(document: Document) -> None:
    """A wire whose node was removed, still listed by the port that it began at."""
    start = next(x for x in nodes_of(document) if x["name"] == "Start")
    like = next(x for x in links_of(document) if x["source"] == start["id"])
    lost = like | {"id": "lost", "target": "gone", "targetPort": "gone-in"}
    document["layers"][0]["models"]["lost"] = lost
    start["ports"][0]["links"].append("lost")


def at_path(path: str, *names: str) -> Wear:
    """Let these nodes come from another file."""

    def wear(document: Document) -> None:
        for node in nodes_of(document):
            if node["name"] in names:
                node["extras"]["path"] = path

    return wear


def _share(document: Document, text: str) -> None:
    literal, *others = _literals(document, text)
    nodes, links = document["layers"][1]["models"], document["layers"][0]["models"]
    out = literal["ports"][0]
    for other in others:
        for key in other["ports"][0]["links"]:
            links[key] |= {"source": literal["id"], "sourcePort": out["id"]}
            out["links"].append(key)
        del nodes[other["id"]]


def _literals(document: Document, *texts: str) -> list[Item]:
    return [
        x for x in nodes_of(document)
        if x["name"].startswith("Literal ") and x["ports"][0]["label"] in texts
    ]  # fmt: skip
