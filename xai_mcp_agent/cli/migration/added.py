"""What is drawn into an adopted workflow: ports, literals, and the links between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import NAMESPACE_OID, uuid5

from ...core.json import JsonObject
from ...drawing.components import ComponentClass
from .document import (
    COMPULSORY_MARK,
    DYNAMIC,
    VALUE_PORT,
    links_of,
    nodes_of,
    number_of,
    ports_of,
    text_of,
    with_links,
    with_nodes,
)

FLOW_IN, FLOW_OUT, _BRANCH, _FLOW_SIGN = "in-0", "out-0", "out-flow-", "\u25b6"
_PORT_HEIGHT = 20.0
_LITERALS = {"string": ("Literal String", "lightpink"), "dict": ("Literal Dict", "orange")}


class Source(NamedTuple):
    """What is wired to a port: the text of a literal of this type, or else an out-port."""

    text: str
    node: str = ""
    port: str = ""
    type: str = "string"


def in_port(node: JsonObject, name: str) -> JsonObject | None:
    """The port of a node to which a value of this name is wired."""
    ports = (x for x in ports_of(node) if x.get("in") is True)
    named = (x for x in ports if text_of(x, "name").startswith(VALUE_PORT))
    return next(
        (x for x in named if text_of(x, "label").removeprefix(COMPULSORY_MARK) == name), None
    )


class Drawing:
    """A document to which ports, literals and links are added."""

    def __init__(self, document: JsonObject) -> None:
        self._document = document
        self._nodes = dict(nodes_of(document))
        self._links = dict(links_of(document))
        # Arguments are wired as the flow is: a further link is of the kind that a port has.
        self._kinds = {text_of(x, "sourcePort"): text_of(x, "type") for x in self._links.values()}

    def done(self) -> JsonObject:
        """The document with all that was added."""
        return with_links(with_nodes(self._document, self._nodes), self._links)

    def wire(self, node_id: str, name: str, source: Source) -> None:
        """Give the in-port `name` of a node what `source` says; the port is added if it is not.

        A new port comes to stand under the last one of its side.
        """
        link_id = new_id(node_id, name, "link")
        port = self._in_port(node_id, name, link_id, source.type)
        if not source.node:
            source = self._literal(node_id, name, source, port)
        out = next(x for x in ports_of(self._nodes[source.node]) if x["id"] == source.port)
        self._replace_port(source.node, {**out, "links": [*out.get("links", ()), link_id]})
        ends = [(number_of(x, "x"), number_of(x, "y")) for x in (out, port)]
        kind = self._kinds.get(source.port, "parameter-link")
        self._links[link_id] = {
            "id": link_id, "type": kind, "selected": False,
            "source": source.node, "sourcePort": source.port,
            "target": node_id, "targetPort": port["id"],
            "points": [
                {"id": new_id(link_id, str(n)), "type": "point", "x": x, "y": y}
                for n, (x, y) in enumerate(ends)
            ],
            "labels": [], "width": 3, "color": "gray", "curvyness": 50,
            "selectedColor": "rgb(0,192,255)",
        }  # fmt: skip

    def _in_port(self, node_id: str, name: str, link_id: str, type: str) -> JsonObject:
        node = self._nodes[node_id]
        if (port := in_port(node, name)) is not None:
            self._replace_port(node_id, port := {**port, "links": [link_id]})
            return port
        last = [x for x in ports_of(node) if x.get("in") is True][-1]
        port = new_port(node_id, Wanted(name, True, type), [link_id]) | {
            "x": number_of(last, "x"), "y": number_of(last, "y") + _PORT_HEIGHT,
        }  # fmt: skip
        ports = ports_of(node)
        ports.insert(ports.index(last) + 1, port)
        order = [*node.get("portsInOrder", ()), port["id"]]
        self._nodes[node_id] = {**node, "ports": ports, "portsInOrder": order}
        return port

    def _literal(self, node_id: str, name: str, said: Source, port: JsonObject) -> Source:
        literal_id = new_id(node_id, name, "literal")
        place: JsonObject = {"x": number_of(port, "x") - 100.0, "y": number_of(port, "y")}
        out = new_port(literal_id, Wanted(FLOW_OUT, False), []) | place
        out |= {"label": said.text, "varName": said.text, "dataType": said.type}
        shown, color = _LITERALS[said.type]
        self._nodes[literal_id] = {
            "id": literal_id, "type": "custom-node", "selected": False,
            "extras": {"type": said.type, "attached": True}, **place, "ports": [out],
            "name": shown, "color": color,
            "portsInOrder": [], "portsOutOrder": [out["id"]],
        }  # fmt: skip
        return Source("", literal_id, out["id"])

    def _replace_port(self, node_id: str, port: JsonObject) -> None:
        node = self._nodes[node_id]
        ports = [port if x["id"] == port["id"] else x for x in ports_of(node)]
        self._nodes[node_id] = {**node, "ports": ports}


class Wanted(NamedTuple):
    """A port that a class has: of the flow, where it has no type, or for values."""

    name: str
    is_in: bool
    type: str = ""
    is_compulsory: bool = False


def wanted_ports(cls: ComponentClass) -> list[Wanted]:
    """The ports of a class as the canvas draws them."""
    ports = [] if cls.type == "Start" else [Wanted(FLOW_IN, is_in=True)]
    ports.append(Wanted(FLOW_OUT, is_in=False))
    for x in cls.ports:
        if x.kind == "branch":
            ports.append(Wanted(f"{_BRANCH}{x.name}", is_in=False))
        else:
            ports.append(Wanted(x.name, x.is_in, x.type, x.kind == "compulsory"))
    return ports


def new_port(node_id: str, port: Wanted, links: Sequence[str] = ()) -> JsonObject:
    """A port that a node does not have yet, as the canvas writes it."""
    name, label = port.name, port.name.removeprefix(_BRANCH)
    if port.type:
        name = f"{VALUE_PORT}{'' if port.is_in else 'out-'}{port.type}-{port.name}"
        label = f"{COMPULSORY_MARK if port.is_compulsory else ''}{port.name}"
    else:
        label = f"{label} {_FLOW_SIGN}" if label != port.name else _FLOW_SIGN
    many = {"dynaPortOrder": 0, "dynaPortRef": {"previous": None, "next": None}}
    return {
        "id": new_id(node_id, "in" if port.is_in else "out", port.name), "type": "default",
        "extras": {}, "x": 0.0, "y": 0.0, "name": name,
        "alignment": "left" if port.is_in else "right", "parentNode": node_id,
        "links": list(links), "in": port.is_in, "label": label, "varName": label,
        "portType": "", "dataType": port.type, **(many if port.type in DYNAMIC else {}),
    }  # fmt: skip


def new_id(*words: str) -> str:
    """The same for the same workflow: adopting it again writes the same file."""
    text = "/".join(words).encode("utf-8", "backslashreplace").decode()
    return str(uuid5(NAMESPACE_OID, text))
