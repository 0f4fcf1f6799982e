"""Carries over where the prompts of an adopted workflow go.

In xai-agent's workflows a node such as OpenAIAuthorize says it for all agents, by its `base_url`.
Here each agent has that port. Where it cannot be told which address counts, the port is given a
mark with which no run begins: silence would send the prompts to another company.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple
from uuid import NAMESPACE_OID, uuid5

from ...canvas.agents import UNDECIDED
from ...core.tools import JsonObject
from .document import (
    COMPULSORY_MARK,
    VALUE_PORT,
    links_of,
    nodes_of,
    ports_of,
    text_of,
    texts_by_port,
    with_links,
    with_nodes,
)
from .migrate import Migration, Remark, is_authorizing

# The port that says whom an agent asks, and the one for the address, by class.
_PORTS = {
    "AgentInit": ("agent_provider", "base_url"),
    "AgentUpdate": ("new_agent_provider", "new_base_url"),
}
_PROVIDER = "openai"
_PORT_HEIGHT = 20.0


class _Source(NamedTuple):
    """What is wired to a `base_url`: a text, or else an out-port."""

    text: str
    node: str = ""
    port: str = ""


def with_addresses(migration: Migration) -> Migration:
    """The migration with the agents' addresses, and a remark about each."""
    document = migration.document
    named = dict(_named(document))
    if not named:
        return migration
    if not any(text_of(x, "name") in _PORTS for x in nodes_of(document).values()):
        lonely = [_lonely(document, x, to_do=bool(migration.adopted)) for x in named]
        return replace(migration, remarks=(*lonely, *migration.remarks))
    agents = [x for x in migration.adopted if _asks_there(document, x.node, x.node_id)]
    source = _carried(document, named)
    drawing = _Drawing(document)
    remarks: list[Remark] = []
    for agent in agents:
        _, port = _PORTS[agent.node]
        drawing.wire(agent.node_id, port, source or _Source(UNDECIDED))
        remarks.append(_remark(agent.node, agent.node_id, port, source))
    return replace(migration, document=drawing.done(), remarks=(*remarks, *migration.remarks))


def names_an_address(document: JsonObject, node_id: str) -> bool:
    """Whether this node says where all agents' prompts go."""
    return any(x == node_id for x, _ in _named(document))


def _named(document: JsonObject) -> Iterator[tuple[str, _Source | None]]:
    """The nodes that name an address, with where they have it from; None where that is computed."""
    texts, nodes = texts_by_port(document), nodes_of(document)
    wired = {text_of(x, "targetPort"): x for x in links_of(document).values()}
    for node_id, node in nodes.items():
        port = _port_of(node, "base_url") if is_authorizing(node) else None
        link = wired.get(text_of(port, "id")) if port else None
        if port is None or link is None:
            continue
        text = texts.get(text_of(port, "id"))
        if text is not None:
            if text.strip():
                yield node_id, _Source(text)
            continue
        source = text_of(link, "source")
        # An argument has its value from the start; of another node that depends on the order.
        is_there = text_of(nodes.get(source, {}), "name").startswith("Argument ")
        yield node_id, _Source("", source, text_of(link, "sourcePort")) if is_there else None


def _carried(document: JsonObject, named: dict[str, _Source | None]) -> _Source | None:
    """The one address that counts for all; None if that cannot be told."""
    authorizing = [x for x, node in nodes_of(document).items() if is_authorizing(node)]
    sources = set(named.values())
    return sources.pop() if len(sources) == 1 and len(named) == len(authorizing) else None


def _asks_there(document: JsonObject, name: str, node_id: str) -> bool:
    """Whether it is an agent of that service whose address nobody has wired yet."""
    if name not in _PORTS:
        return False
    wired = {text_of(x, "targetPort") for x in links_of(document).values()}
    ports = (_port_of(nodes_of(document)[node_id], x) for x in _PORTS[name])
    provider, address = (text_of(x or {}, "id") for x in ports)
    if address in wired or provider not in wired:
        return False
    text = texts_by_port(document).get(provider)
    return text is None or text.strip().lower() == _PROVIDER


def _port_of(node: JsonObject, name: str) -> JsonObject | None:
    ports = (x for x in ports_of(node) if x.get("in") is True)
    named = (x for x in ports if text_of(x, "name").startswith(VALUE_PORT))
    return next(
        (x for x in named if text_of(x, "label").removeprefix(COMPULSORY_MARK) == name), None
    )


def _remark(node: str, node_id: str, port: str, source: _Source | None) -> Remark:
    if source is not None:
        text = (
            f"its new port `{port}` has the address that the workflow gave to all agents: its "
            "prompts go where they went."
        )
        return Remark(node, node_id, text, to_do=False, port=port)
    text = (
        "the workflow said where its prompts go, and which address counts for this agent could not "
        f"be told. Write it into its port `{port}`, in place of `{UNDECIDED}`. Until then it "
        "does not run."
    )
    return Remark(node, node_id, text, port=port)


def _lonely(document: JsonObject, node_id: str, *, to_do: bool) -> Remark:
    text = (
        "its `base_url` says where the prompts of all agents go, and here is no agent. Those of "
        "other workflows do not hear of it: wire that address to `base_url` of their AgentInit."
    )
    return Remark(text_of(nodes_of(document)[node_id], "name"), node_id, text, to_do, "base_url")


class _Drawing:
    """A document to which ports, literals and links are added."""

    def __init__(self, document: JsonObject) -> None:
        self._document = document
        self._nodes = dict(nodes_of(document))
        self._links = dict(links_of(document))

    def done(self) -> JsonObject:
        """The document with all that was added."""
        return with_links(with_nodes(self._document, self._nodes), self._links)

    def wire(self, node_id: str, name: str, source: _Source) -> None:
        """Give the in-port `name` of a node what `source` says; the port is added if it is not."""
        link_id = _id(node_id, name, "link")
        port = self._in_port(node_id, name, link_id)
        if not source.node:
            source = self._literal(node_id, name, source.text, port)
        out = next(x for x in ports_of(self._nodes[source.node]) if x["id"] == source.port)
        self._replace_port(source.node, {**out, "links": [*out.get("links", ()), link_id]})
        ends = [(out.get("x", 0.0), out.get("y", 0.0)), (port.get("x", 0.0), port.get("y", 0.0))]
        like = [x for x in self._links.values() if text_of(x, "sourcePort") == source.port]
        kind = text_of(like[0], "type") if like else "parameter-link"
        self._links[link_id] = {
            "id": link_id, "type": kind, "selected": False,
            "source": source.node, "sourcePort": source.port,
            "target": node_id, "targetPort": port["id"],
            "points": [
                {"id": _id(link_id, str(n)), "type": "point", "x": x, "y": y}
                for n, (x, y) in enumerate(ends)
            ],
            "labels": [], "width": 3, "color": "gray", "curvyness": 50,
            "selectedColor": "rgb(0,192,255)",
        }  # fmt: skip

    def _in_port(self, node_id: str, name: str, link_id: str) -> JsonObject:
        node = self._nodes[node_id]
        if (port := _port_of(node, name)) is not None:
            self._replace_port(node_id, port := {**port, "links": [link_id]})
            return port
        last = [x for x in ports_of(node) if x.get("in") is True][-1]
        port = _port(node_id, name, link_id, is_in=True) | {
            "x": last.get("x", 0.0), "y": last.get("y", 0.0) + _PORT_HEIGHT,
        }  # fmt: skip
        ports = ports_of(node)
        ports.insert(ports.index(last) + 1, port)
        order = [*node.get("portsInOrder", ()), port["id"]]
        self._nodes[node_id] = {**node, "ports": ports, "portsInOrder": order}
        return port

    def _literal(self, node_id: str, name: str, text: str, port: JsonObject) -> _Source:
        literal_id = _id(node_id, name, "literal")
        place = {"x": port.get("x", 0.0) - 100.0, "y": port.get("y", 0.0)}
        out = _port(literal_id, text, "", is_in=False) | place
        self._nodes[literal_id] = {
            "id": literal_id, "type": "custom-node", "selected": False,
            "extras": {"type": "string", "attached": True}, **place, "ports": [out],
            "name": "Literal String", "color": "lightpink",
            "portsInOrder": [], "portsOutOrder": [out["id"]],
        }  # fmt: skip
        return _Source("", literal_id, out["id"])

    def _replace_port(self, node_id: str, port: JsonObject) -> None:
        node = self._nodes[node_id]
        ports = [port if x["id"] == port["id"] else x for x in ports_of(node)]
        self._nodes[node_id] = {**node, "ports": ports}


def _port(node_id: str, label: str, link_id: str, *, is_in: bool) -> JsonObject:
    return {
        "id": _id(node_id, label, "port"), "type": "default", "extras": {},
        "name": f"{VALUE_PORT}string-{label}" if is_in else "out-0",
        "alignment": "left" if is_in else "right", "parentNode": node_id,
        "links": [link_id] if link_id else [], "in": is_in, "label": label, "varName": label,
        "portType": "", "dataType": "string",
    }  # fmt: skip


def _id(*words: str) -> str:
    """The same for the same workflow: adopting it again writes the same file."""
    return str(uuid5(NAMESPACE_OID, "/".join(words)))
