"""Brings nodes up to date that were drawn with an older version of this library.

The canvas does so by Reload Node. Wires and values stay: a port that is gone goes from the drawing
only if nothing is wired to it, one that has arrived comes to stand where its class has it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, cast

from ...core.json import JsonObject
from ...drawing.components import ComponentClass
from .added import Wanted, new_port, wanted_ports
from .document import links_of, nodes_of, number_of, ports_of, text_of, with_nodes
from .migrate import AdoptedNode, Migration, path_of, port_key

_PORT_HEIGHT = 20.0


def refreshed(migration: Migration, classes: Mapping[str, ComponentClass]) -> Migration:
    """The migration with the ports that our classes have now; nodes that changed are adopted."""
    document = migration.document
    nodes = dict(nodes_of(document))
    wired = {
        text_of(x, end) for x in links_of(document).values() for end in ("sourcePort", "targetPort")
    }
    known = {x.node_id for x in migration.adopted}
    more: list[AdoptedNode] = []
    for node_id, node in nodes_of(document).items():
        cls = classes.get(text_of(node, "name"))
        if cls is None or path_of(node) != cls.path or "ports" not in node:
            continue
        nodes[node_id] = _with_ports(node_id, node, cls, wired)
        if node_id not in known and nodes[node_id] is not node:
            more.append(AdoptedNode(cls.name, node_id, cls.path, cls.path, ()))
    drawn = with_nodes(document, nodes) if nodes != nodes_of(document) else document
    return replace(migration, document=drawn, adopted=(*migration.adopted, *more))


def _with_ports(
    node_id: str, node: JsonObject, cls: ComponentClass, wired: Collection[str]
) -> JsonObject:
    """The node with the ports of its class, and those that are wired besides."""
    wanted = wanted_ports(cls)
    names = {(x.is_in, x.name) for x in wanted}
    old = ports_of(node)
    gone = [x for x in old if port_key(x) not in names and text_of(x, "id") not in wired]
    ports = [x for x in old if x not in gone]
    present = {port_key(x) for x in ports}
    arrived = [x for x in wanted if (x.is_in, x.name) not in present]
    if not gone and not arrived:
        return node
    for one in arrived:
        _insert(ports, one, wanted, node_id)
    orders = {
        "portsInOrder": _order(node.get("portsInOrder"), ports, is_in=True),
        "portsOutOrder": _order(node.get("portsOutOrder"), ports, is_in=False),
    }
    return {**node, "ports": ports, **orders}


def _insert(ports: list[JsonObject], one: Wanted, wanted: list[Wanted], node_id: str) -> None:
    """Put a port behind the last one that its class has before it."""
    side = [x for x in wanted if x.is_in == one.is_in]
    before = {(x.is_in, x.name) for x in side[: side.index(one)]}
    ranks = [n for n, x in enumerate(ports) if port_key(x) in before]
    same = [n for n, x in enumerate(ports) if (x.get("in") is True) is one.is_in]
    at = ranks[-1] + 1 if ranks else same[0] if same else len(ports)
    near = ports[at - 1] if ranks else {}
    place: JsonObject = {
        "x": number_of(near, "x"), "y": number_of(near, "y") + _PORT_HEIGHT,
    }  # fmt: skip
    ports.insert(at, new_port(node_id, one) | place)


def _order(given: Any, ports: list[JsonObject], *, is_in: bool) -> list[str]:
    """The order in which ports are shown: as it was, with new ones where they stand."""
    ids = [text_of(x, "id") for x in ports if (x.get("in") is True) is is_in]
    named = cast(list[Any], given) if isinstance(given, list) else []
    old = [str(x) for x in named if x in ids]
    is_same = old == [x for x in ids if x in old]
    return ids if is_same else [*old, *(x for x in ids if x not in old)]
