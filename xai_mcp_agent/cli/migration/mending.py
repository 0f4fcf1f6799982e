"""Mends what old versions, scripts and hands left in a workflow's file, before it is adopted.

The canvas or the compiler stumbles over it, or leaves a wire out without a word; see
`drawing.rules`. What a person drew stays: nodes, values, places, and every wire that has two ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from ...core.json import JsonObject
from ...secrets.redactor import tokens_in_text
from .added import new_id
from .document import (
    VALUE_PORT,
    Items,
    extras_of,
    links_of,
    nodes_of,
    port_type,
    ports_of,
    text_of,
    with_links,
    with_nodes,
)
from .migrate import Remark

_DRAWING = "the drawing"
_FLOW, _VALUE = "triangle-link", "parameter-link"
_LITERAL, _ARGUMENT = "Literal ", "Argument "
_SECRET = "Literal Secret"

Ends = dict[str, tuple[str, JsonObject]]
"""Ports by their ids, each with its node's."""


class Mended(NamedTuple):
    """The document without these faults, and what was done."""

    document: JsonObject
    remarks: tuple[Remark, ...]


def mended(document: JsonObject) -> Mended:
    """Mend a drawing; the given one stays as it is."""
    nodes, ends = nodes_of(document), _ends(document)
    links, said = dict(links_of(document)), list[str]()
    lost = [x for x, link in links.items() if not _has_ends(link, ends)]
    said += _told(_without(links, lost), "wire", "leads nowhere and is left out")
    turned = {x: _turned(link, ends) for x, link in links.items()}
    said += _told(_changed(links, turned), "wire", "was drawn backwards and is turned")
    twins = list(_twins(turned))
    said += _told(_without(turned, twins), "wire", "was drawn twice and is there once")
    typed = {x: _typed(link, nodes, ends) for x, link in turned.items()}
    said += _told(_changed(turned, typed), "wire", "has the kind now that the compiler reads")
    wires = _wires(typed)
    fixed = {x: _node(x, node, wires) for x, node in nodes.items()}
    drawn = with_links(with_nodes(document, fixed), typed)
    remarks = [Remark(_DRAWING, "", f"{', '.join(said)}.", to_do=False)] if said else []
    return Mended(drawn, (*remarks, *_secrets(document)))


def _told(count: int, noun: str, what: str) -> Iterator[str]:
    if count == 1:
        yield f"1 {noun} {what}"
    elif count:
        plural = {"leads": "lead", "is": "are", "was": "were", "has": "have"}
        yield f"{count} {noun}s {' '.join(plural.get(x, x) for x in what.split())}"


def _ends(document: JsonObject) -> Ends:
    found = ((x, port) for x, node in nodes_of(document).items() for port in ports_of(node))
    return {text_of(port, "id"): (node_id, port) for node_id, port in found}


def _has_ends(link: JsonObject, ends: Ends) -> bool:
    return all(
        ends.get(text_of(link, f"{side}Port"), ("", {}))[0] == text_of(link, side) != ""
        for side in ("source", "target")
    )


def _turned(link: JsonObject, ends: Ends) -> JsonObject:
    """The link from the port that gives to the one that takes."""
    source, target = (ends[text_of(link, x)][1].get("in") for x in ("sourcePort", "targetPort"))
    if source is not True or target is True:
        return link
    return {
        **link, "source": link["target"], "sourcePort": link["targetPort"],
        "target": link["source"], "targetPort": link["sourcePort"],
    }  # fmt: skip


def _twins(links: dict[str, JsonObject]) -> Iterator[str]:
    seen = set[tuple[str, str]]()
    for key, link in links.items():
        ends = text_of(link, "sourcePort"), text_of(link, "targetPort")
        if ends in seen:
            yield key
        seen.add(ends)


def _without(links: dict[str, JsonObject], keys: list[str]) -> int:
    for key in keys:
        del links[key]
    return len(keys)


def _changed(old: dict[str, JsonObject], new: dict[str, JsonObject]) -> int:
    return sum(old[x] is not new[x] for x in new)


def _typed(link: JsonObject, nodes: Items, ends: Ends) -> JsonObject:
    """The link with the type that its ports say; arguments are wired as the flow is."""
    into = text_of(ends[text_of(link, "targetPort")][1], "name")
    source = text_of(nodes[text_of(link, "source")], "name")
    is_value = into.startswith(VALUE_PORT) and not source.startswith(_ARGUMENT)
    kind = _VALUE if is_value else _FLOW
    return link if text_of(link, "type") == kind else {**link, "type": kind}


def _wires(links: dict[str, JsonObject]) -> dict[str, list[str]]:
    """The links of each port."""
    found: dict[str, list[str]] = {}
    for key, link in links.items():
        for end in ("sourcePort", "targetPort"):
            found.setdefault(text_of(link, end), []).append(key)
    return found


def _node(node_id: str, node: JsonObject, wires: dict[str, list[str]]) -> JsonObject:
    if not isinstance(node.get("ports"), list):
        return node
    named = (_with_id(node_id, n, x) for n, x in enumerate(ports_of(node)))
    ports = [_port(node, x, wires) for x in named]
    orders = {
        key: [text_of(x, "id") for x in ports if (x.get("in") is True) is is_in]
        for key, is_in in (("portsInOrder", True), ("portsOutOrder", False))
    }
    lost = {key: ids for key, ids in orders.items() if not _is_order(node.get(key), ids)}
    return {**node, "ports": ports, **lost}


def _is_order(given: Any, ids: list[str]) -> bool:
    """Whether it names the same ports, in whatever order: that is how they are shown."""
    return isinstance(given, list) and sorted(map(str, cast(list[Any], given))) == sorted(ids)


def _with_id(node_id: str, number: int, port: JsonObject) -> JsonObject:
    if text_of(port, "id"):
        return port
    return {**port, "id": new_id(node_id, "unnamed", str(number))}


def _port(node: JsonObject, port: JsonObject, wires: dict[str, list[str]]) -> JsonObject:
    """The port with its own wires, and the type that its name or its literal says."""
    own = dict.fromkeys(wires.get(text_of(port, "id"), ()))
    listed: Any = port.get("links")
    known = cast(list[Any], listed) if isinstance(listed, list) else []
    kept = [x for x in known if isinstance(x, str) and x in own]
    changed: JsonObject = {"links": list(dict.fromkeys([*kept, *own]))}
    if not text_of(port, "dataType"):
        is_literal = text_of(node, "name").startswith(_LITERAL)
        changed["dataType"] = text_of(extras_of(node), "type") if is_literal else port_type(port)
    if "varName" not in port:
        changed["varName"] = text_of(port, "label")
    return {**port, **changed}


def _secrets(document: JsonObject) -> Iterator[Remark]:
    """Literals that hold keys; what they hold is never said."""
    for node_id, node in nodes_of(document).items():
        if _holds_a_key(node):
            text = (
                "a key is in the file in clear, for everybody who gets it. Better is an argument "
                "of the type secret, which is asked for when the workflow is run."
            )
            yield Remark(text_of(node, "name"), node_id, text, to_do=False)


def _holds_a_key(node: JsonObject) -> bool:
    name = text_of(node, "name")
    texts = (text_of(x, "label") for x in ports_of(node))
    return name == _SECRET or (name.startswith(_LITERAL) and any(map(tokens_in_text, texts)))
