"""Copies drawn tools, from AgentDefineTool on, from one workflow into another."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator

from ..core.errors import XaiMcpError
from .document import Document, Item, links_of, nodes_after, nodes_of, variable_of

_DEFINES, _NAME_PORT = "AgentDefineTool", "tool_name"
_GAP = 60.0


class CannotCopy(XaiMcpError):
    """A drawn tool cannot be copied; the message says why."""


def with_drawn_tools(document: Document, other: Document, tools: Collection[str]) -> Document:
    """Return the workflow with these drawn tools of another one below its own nodes.

    Raises:
        CannotCopy: the other workflow does not have them, or they use other nodes of it.
    """
    begins = {name: key for key in nodes_of(other) if (name := _tool_name(other, key))}
    if missing := sorted({*tools} - begins.keys()):
        names = ", ".join(begins) or "none"
        raise CannotCopy(f"The tool {missing[0]} is not drawn there; it has: {names}.")
    nodes: dict[str, Item] = {}
    for name in tools:
        nodes |= _of_tool(other, begins[name], name)
    links = {
        key: x
        for key, x in links_of(other).items()
        if x["source"] in nodes and x["target"] in nodes
    }
    return _join(document, copy.deepcopy(nodes), copy.deepcopy(links))


def _tool_name(document: Document, node_id: str) -> str:
    nodes, links = nodes_of(document), links_of(document)
    if nodes[node_id]["name"] != _DEFINES:
        return ""
    names = (
        source["label"]
        for port in nodes[node_id]["ports"]
        if port["in"] and variable_of(port) == _NAME_PORT
        for link in port.get("links", ())
        if link in links
        for source in nodes[links[link]["source"]]["ports"]
    )
    return next(names, "")


def _of_tool(document: Document, begin: str, name: str) -> dict[str, Item]:
    """Return the nodes of a drawn tool, and the literals wired to them."""
    nodes = nodes_of(document)
    own = {x: nodes[x] for x in nodes_after(document, [begin])}
    for link in links_of(document).values():
        source = nodes[link["source"]]
        if link["target"] in own and link["source"] not in own:
            if "path" in source["extras"]:
                raise CannotCopy(
                    f"The tool {name} uses an output of {source['name']}, which is not part of it. "
                    "Copy its nodes by hand."
                )
            own[link["source"]] = source
    return own


def _join(document: Document, nodes: dict[str, Item], links: dict[str, Item]) -> Document:
    joined = copy.deepcopy(document)
    ours, our_links = nodes_of(joined), links_of(joined)
    bottom = max(x["y"] for x in _places(ours, our_links))
    down = bottom + 2 * _GAP - min((x["y"] for x in nodes.values()), default=0.0)
    left = min((x["x"] for x in nodes.values() if _is_drawn(x)), default=0.0)
    right = min(x["x"] for x in ours.values()) - left
    for place in _places(nodes, links):
        place["y"] += down
        place["x"] += right
    for node in nodes.values():
        for port in node["ports"]:
            port["links"] = [x for x in port.get("links", ()) if x in links]
    joined["layers"][0]["models"] |= links
    joined["layers"][1]["models"] |= nodes
    return joined


def _is_drawn(node: Item) -> bool:
    return not node["extras"].get("attached")


def _places(nodes: dict[str, Item], links: dict[str, Item]) -> Iterator[Item]:
    yield from nodes.values()
    yield from (port for node in nodes.values() for port in node["ports"])
    yield from (point for link in links.values() for point in link["points"])
