"""What is drawn into an adopted workflow: ports, literals, and the links between them."""

from __future__ import annotations

from typing import NamedTuple
from uuid import NAMESPACE_OID, uuid5

from ...core.tools import JsonObject
from .document import (
    COMPULSORY_MARK,
    VALUE_PORT,
    links_of,
    nodes_of,
    number_of,
    ports_of,
    text_of,
    with_links,
    with_nodes,
)

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
        port = _port(node_id, name, link_id, type, is_in=True) | {
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
        out = _port(literal_id, said.text, "", said.type, is_in=False) | place
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


def _port(node_id: str, label: str, link_id: str, type: str, *, is_in: bool) -> JsonObject:
    return {
        "id": new_id(node_id, label, "port"), "type": "default", "extras": {},
        "name": f"{VALUE_PORT}{type}-{label}" if is_in else "out-0",
        "alignment": "left" if is_in else "right", "parentNode": node_id,
        "links": [link_id] if link_id else [], "in": is_in, "label": label, "varName": label,
        "portType": "", "dataType": type,
    }  # fmt: skip


def new_id(*words: str) -> str:
    """The same for the same workflow: adopting it again writes the same file."""
    return str(uuid5(NAMESPACE_OID, "/".join(words)))
