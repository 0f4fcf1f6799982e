"""Carries over which tools a node AgentUse... takes, from the port `mode` that it once had."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from ...core.json import JsonObject
from ...drawing.components import ComponentClass
from .added import in_port
from .document import (
    VALUE_PORT,
    links_of,
    nodes_of,
    ports_of,
    text_of,
    texts_by_port,
    with_links,
    with_nodes,
)
from .migrate import Remark, path_of

_MODE, _TOOLS, _WITHOUT = "mode", "tools", "except_tools"
_WORDS = ("", "all", "only", "except")


class Choices(NamedTuple):
    """The document without that port, the nodes that had it, and those left to a person."""

    document: JsonObject
    changed: frozenset[str]
    remarks: tuple[Remark, ...]


def with_choices(document: JsonObject, classes: Mapping[str, ComponentClass]) -> Choices:
    """The document with `except_tools` in place of the word `except`; `document` stays as it is."""
    nodes, links = dict(nodes_of(document)), dict(links_of(document))
    wired = {text_of(x, "targetPort") for x in links.values()}
    texts, changed, remarks = texts_by_port(document), set[str](), list[Remark]()
    for node_id, node in nodes_of(document).items():
        cls = classes.get(text_of(node, "name"))
        port = in_port(node, _MODE) if cls and path_of(node) == cls.path else None
        if cls is None or port is None or not any(x.name == _WITHOUT for x in cls.ports):
            continue
        own = text_of(port, "id")
        word = texts.get(own, "?" if own in wired else "").strip().lower()
        if word not in _WORDS or (word == "only" and not _is_wired(node, _TOOLS, wired)):
            remarks.append(_undecided(cls.name, node_id))
            continue
        changed.add(node_id)
        nodes[node_id] = _without_mode(node, port, is_except=word == "except")
        for link in [key for key, x in links.items() if text_of(x, "targetPort") == own]:
            _remove(link, nodes, links)
    drawn = with_links(with_nodes(document, nodes), links) if changed else document
    return Choices(drawn, frozenset(changed), tuple(remarks))


def _is_wired(node: JsonObject, name: str, wired: Collection[str]) -> bool:
    port = in_port(node, name)
    return port is not None and text_of(port, "id") in wired


def _undecided(name: str, node_id: str) -> Remark:
    text = (
        f"its port `{_MODE}` is gone, and what it said could not be told. Wire the tools that it "
        f"takes to `{_TOOLS}`, those that it leaves out to `{_WITHOUT}`, and remove its link."
    )
    return Remark(name, node_id, text, port=_MODE)


def _without_mode(node: JsonObject, port: JsonObject, *, is_except: bool) -> JsonObject:
    """The node without that port; what it left out stays wired, to the port that is for it now."""
    tools = in_port(node, _TOOLS) if is_except else None
    ports = [_renamed(x) if x is tools else x for x in ports_of(node) if x is not port]
    order = [x for x in node.get("portsInOrder") or () if x != port.get("id")]
    return {**node, "ports": ports, "portsInOrder": order}


def _renamed(port: JsonObject) -> JsonObject:
    named = {"name": f"{VALUE_PORT}any-{_WITHOUT}", "label": _WITHOUT, "varName": _WITHOUT}
    return {**port, **named}


def _remove(link_id: str, nodes: dict[str, JsonObject], links: dict[str, JsonObject]) -> None:
    """Take a link away, and the literal that it came from if that is for nothing else."""
    source = text_of(links.pop(link_id), "source")
    literal = nodes[source]
    ports = [
        {**x, "links": [y for y in x.get("links") or () if y != link_id]} for x in ports_of(literal)
    ]
    if any(x["links"] for x in ports):
        nodes[source] = {**literal, "ports": ports}
    else:
        del nodes[source]
