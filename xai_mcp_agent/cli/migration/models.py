"""Moves what AgentInit and AgentUpdate once had of their model's settings to a node AgentModel."""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from ...core.json import JsonObject
from ...drawing.components import ComponentClass, PortSpec
from .added import FLOW_IN, FLOW_OUT, Wanted, in_port, new_id, new_port
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
from .migrate import Remark, path_of

_MODEL, _SETTINGS = "AgentModel", "model_settings"
_PREFIXES = {"AgentInit": "", "AgentUpdate": "new_"}
_WIDTH, _HEAD, _ROW, _GAP = 340.0, 70.0, 22.0, 40.0  # about as the canvas draws a node
_MOST_STEPS = 200  # past other nodes; then above all of them


class Models(NamedTuple):
    """The document with a node for each model, the nodes whose ports moved there, and words."""

    document: JsonObject
    changed: frozenset[str]
    remarks: tuple[Remark, ...] = ()


def with_models(document: JsonObject, classes: Mapping[str, ComponentClass]) -> Models:
    """The document with an AgentModel in front of each agent that had its ports.

    What was wired to them is wired to it: literals, keys too, and links keep their ids.
    """
    if _MODEL not in classes:
        return Models(document, frozenset())
    moving = _Moving(document, classes[_MODEL])
    for node_id, node in nodes_of(document).items():
        cls = classes.get(text_of(node, "name"))
        if cls is not None and cls.name in _PREFIXES and path_of(node) == cls.path:
            moving.split(node_id, cls)
    return moving.done()


class _Moving:
    def __init__(self, document: JsonObject, model: ComponentClass) -> None:
        self._document, self._model = document, model
        self._nodes, self._links = dict(nodes_of(document)), dict(links_of(document))
        self._to: dict[str, list[str]] = {}  # links by the port that they lead to
        for key, link in self._links.items():
            self._to.setdefault(text_of(link, "targetPort"), []).append(key)
        self._columns: dict[int, list[float]] = {}  # where nodes stand, from top to bottom
        for place in sorted(_place(x) for x in self._nodes.values()):
            self._columns.setdefault(_column(place[0]), []).append(place[1])
        for column in self._columns.values():
            column.sort()
        self._changed: set[str] = set()
        self._remarks: list[Remark] = []

    def done(self) -> Models:
        if not self._changed:
            return Models(self._document, frozenset())
        drawn = with_links(with_nodes(self._document, self._nodes), self._links)
        return Models(drawn, frozenset(self._changed), tuple(self._remarks))

    def split(self, node_id: str, cls: ComponentClass) -> None:
        """Take the ports off an agent that are the model's; what is wired goes along."""
        node, prefix = self._nodes[node_id], _PREFIXES[cls.name]
        specs = {prefix + x.name: x for x in self._model.ports if x.is_in}
        own = {x.name for x in cls.ports}
        moved = [x for x in ports_of(node) if x.get("in") and _name(x) in specs.keys() - own]
        if not moved or self._has_model(node, f"{prefix}{_SETTINGS}"):
            return
        self._changed.add(node_id)
        kept = [x for x in ports_of(node) if x not in moved]
        order = [x["id"] for x in kept if x.get("in")]
        self._nodes[node_id] = {**node, "ports": kept, "portsInOrder": order}
        wired = [(x, specs[_name(x)]) for x in moved if text_of(x, "id") in self._to]
        if wired:
            self._draw(node_id, prefix, wired)
            names = ", ".join(f"`{_name(x)}`" for x, _ in wired)
            text = (
                f"what was wired to {names} is wired to an AgentModel now, which stands above it."
            )
            self._remarks.append(Remark(cls.name, node_id, text, to_do=False))

    def _has_model(self, node: JsonObject, name: str) -> bool:
        """Whether it has its model's settings from somewhere: a second wire would be in vain."""
        port = in_port(node, name)
        return port is not None and text_of(port, "id") in self._to

    def _draw(self, agent: str, prefix: str, wired: list[tuple[JsonObject, PortSpec]]) -> None:
        new, settings = new_id(agent, _MODEL), f"{prefix}{_SETTINGS}"
        x, y = self._free(self._nodes[agent], len(self._model.ports))
        entry = next((p for p in ports_of(self._nodes[agent]) if p.get("name") == FLOW_IN), None)
        flow = list(self._to.get(text_of(entry or {}, "id"), ()))
        ports = {spec.name: _moved(port, spec, new) for port, spec in wired}
        ins = [
            ports.get(s.name) or new_port(new, Wanted(s.name, True, s.type))
            for s in self._model.ports
            if s.is_in
        ]
        outs = [new_port(new, Wanted(_SETTINGS, False, "dict"))]
        ways = [new_port(new, Wanted(FLOW_IN, True), flow), new_port(new, Wanted(FLOW_OUT, False))]
        first, last = self._model.lines
        self._nodes[new] = {
            "id": new, "type": "custom-node", "selected": False,
            "extras": {
                "type": self._model.type, "path": self._model.path,
                "description": self._model.description,
                "lineNo": [{"lineno": first, "end_lineno": last}],
            },
            "x": x, "y": y, "name": _MODEL, "color": self._model.color,
            "ports": [ways[0], *ins, ways[1], *outs],
            "portsInOrder": [p["id"] for p in (ways[0], *ins)],
            "portsOutOrder": [p["id"] for p in (ways[1], *outs)],
        }  # fmt: skip
        for port, _ in wired:
            self._lead(self._to[text_of(port, "id")], new, text_of(port, "id"))
        self._lead(flow, new, ways[0]["id"])
        self._wire(
            new, outs[0]["id"], agent, self._settings_port(agent, settings), "parameter-link"
        )
        if entry is not None:
            self._enter(agent, entry, [])
            self._wire(new, ways[1]["id"], agent, entry["id"], "triangle-link")

    def _lead(self, links: list[str], node: str, port: str) -> None:
        for key in links:
            self._links[key] = {**self._links[key], "target": node, "targetPort": port}

    def _settings_port(self, agent: str, name: str) -> str:
        """The port of the agent for the model's settings, which it may not have yet."""
        node = self._nodes[agent]
        port = next((x for x in ports_of(node) if x.get("in") and _name(x) == name), None)
        if port is None:
            port = new_port(agent, Wanted(name, True, "dict"))
            ports = ports_of(node)
            ports.insert(len([x for x in ports if x.get("in")]), port)
            order = [*node.get("portsInOrder", ()), port["id"]]
            self._nodes[agent] = {**node, "ports": ports, "portsInOrder": order}
        return port["id"]

    def _enter(self, agent: str, entry: JsonObject, links: list[str]) -> None:
        node = self._nodes[agent]
        ports = [{**x, "links": links} if x.get("id") == entry["id"] else x for x in ports_of(node)]
        self._nodes[agent] = {**node, "ports": ports}

    def _wire(self, source: str, out: str, target: str, port: str, kind: str) -> None:
        key = new_id(out, port, "link")
        self._links[key] = {
            "id": key, "type": kind, "selected": False, "source": source, "sourcePort": out,
            "target": target, "targetPort": port,
            "points": [
                {"id": new_id(key, str(n)), "type": "point", "x": at[0], "y": at[1]}
                for n, at in enumerate((_place(self._nodes[source]), _place(self._nodes[target])))
            ],
            "labels": [], "width": 3, "color": "gray", "curvyness": 50,
            "selectedColor": "rgb(0,192,255)",
        }  # fmt: skip
        for node, at in ((source, out), (target, port)):
            ports = [
                {**x, "links": [*(x.get("links") or ()), key]} if x.get("id") == at else x
                for x in ports_of(self._nodes[node])
            ]
            self._nodes[node] = {**self._nodes[node], "ports": ports}

    def _free(self, agent: JsonObject, rows: int) -> tuple[float, float]:
        """A place above the agent where no node stands."""
        high = _HEAD + _ROW * rows
        x, y = _place(agent)
        y -= high + _GAP
        columns = [self._columns.get(_column(x) + side, []) for side in (-1, 0, 1)]
        # Upwards along what stands near enough, whatever is further away.
        others = heapq.merge(*(_upwards(column, y + high) for column in columns), reverse=True)
        for other in islice(others, _MOST_STEPS):
            if other <= y - high:
                break
            y = other - high - _GAP
        else:
            y = min((column[0] for column in columns if column), default=y) - high - _GAP
        insort(self._columns.setdefault(_column(x), []), y)
        return x, y


def _upwards(column: list[float], below: float) -> Iterator[float]:
    return (column[n] for n in range(bisect_left(column, below) - 1, -1, -1))


def _column(x: float) -> int:
    return int(x // _WIDTH)


def _place(node: JsonObject) -> tuple[float, float]:
    return number_of(node, "x"), number_of(node, "y")


def _name(port: JsonObject) -> str:
    return (text_of(port, "varName") or text_of(port, "label")).removeprefix(COMPULSORY_MARK)


def _moved(port: JsonObject, spec: PortSpec, node: str) -> JsonObject:
    return {
        **port, "name": f"{VALUE_PORT}{spec.type}-{spec.name}", "label": spec.name,
        "varName": spec.name, "dataType": spec.type, "parentNode": node,
    }  # fmt: skip
