"""Copies drawn tools, from AgentDefineTool on, from one workflow into another."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator
from typing import Any

from ..core.errors import XaiMcpError
from .rules import Document, Item, links_of, nodes_after, nodes_of

_DEFINES, _NAME_PORT = "AgentDefineTool", "tool_name"
_GAP = 60.0


class CannotCopy(XaiMcpError):
    """A drawn tool cannot be copied; the message says why."""


def with_drawn_tools(document: Document, other: Document, tools: Collection[str]) -> Document:
    """Return the workflow with these drawn tools of another one below its own nodes.

    Raises:
        CannotCopy: the other workflow does not have them, or they use other nodes of it.
    """
    begins = {name: node for node in nodes_of(other) if (name := _tool_name(other, node))}
    if missing := sorted({*tools} - begins.keys()):
        names = ", ".join(begins) or "none"
        raise CannotCopy(f"The tool {missing[0]} is not drawn there; it has: {names}.")
    nodes: dict[str, Item] = {}
    for name in tools:
        nodes |= {x["id"]: x for x in _of_tool(other, begins[name], name)}
    links = [x for x in links_of(other) if x["source"] in nodes and x["target"] in nodes]
    return _join(document, copy.deepcopy([*nodes.values()]), copy.deepcopy(links))


def _tool_name(document: Document, node: Item) -> str:
    if node["name"] != _DEFINES:
        return ""
    for port in node["ports"]:
        if port["in"] and port["label"].endswith(_NAME_PORT):
            sources = {x["id"]: x["source"] for x in links_of(document)}
            literals = {sources[x] for x in port["links"] if x in sources}
            names = (x["ports"][0]["label"] for x in nodes_of(document) if x["id"] in literals)
            return next(names, "")
    return ""


def _of_tool(document: Document, begin: Item, name: str) -> list[Item]:
    """Return the nodes of a drawn tool, and the literals wired to them."""
    nodes = {x["id"]: x for x in nodes_of(document)}
    own = {x: nodes[x] for x in nodes_after(document, [begin["id"]])}
    for link in links_of(document):
        source = nodes[link["source"]]
        if link["target"] in own and source["id"] not in own:
            if "path" in source["extras"]:
                raise CannotCopy(
                    f"The tool {name} uses an output of {source['name']}, which is not part of it. "
                    "Copy its nodes by hand."
                )
            own[source["id"]] = source
    return [*own.values()]


def _join(document: Document, nodes: list[Item], links: list[Item]) -> Document:
    ours = nodes_of(document)
    bottom = max(x["y"] for x in _places(ours, links_of(document)))
    down = bottom + 2 * _GAP - min((x["y"] for x in nodes), default=0.0)
    right = min(x["x"] for x in ours) - min((x["x"] for x in nodes if _is_drawn(x)), default=0.0)
    for place in _places(nodes, links):
        place["y"] += down
        place["x"] += right
    link_ids = {x["id"] for x in links}
    for node in nodes:
        for port in node["ports"]:
            port["links"] = [x for x in port["links"] if x in link_ids]
    joined = copy.deepcopy(document)
    joined["layers"][0]["models"] |= {x["id"]: x for x in links}
    joined["layers"][1]["models"] |= {x["id"]: x for x in nodes}
    return joined


def _is_drawn(node: Item) -> bool:
    return not node["extras"].get("attached")


def _places(nodes: list[Item], links: list[Item]) -> Iterator[dict[str, Any]]:
    yield from nodes
    yield from (port for node in nodes for port in node["ports"])
    yield from (point for link in links for point in link["points"])
