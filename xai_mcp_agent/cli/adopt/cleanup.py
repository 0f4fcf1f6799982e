"""Repairs what old versions, scripts and hands left in a workflow, before its conversion.

The canvas or the compiler fails on such leftovers, or drops a wire silently; see `drawing.rules`.
Everything a person drew stays: nodes, values, places, and every wire with two ends.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...console.text import count
from ...core.json import JsonObject
from ...secrets.search import tokens_in_text
from .workflow import AdoptedWorkflow, Remark, port_type

_DRAWING = "the drawing"
_LITERAL, _SECRET = "Literal ", "Literal Secret"


def clean_up(workflow: AdoptedWorkflow) -> list[Remark]:
    """Repair a workflow in place; return the repairs and warnings about keys in the file."""
    links = workflow.links
    loose = [x for x, link in links.items() if not _has_ends(link, workflow)]
    _remove(links, loose)
    twins = list(_twins(links))
    _remove(links, twins)
    mistyped = [x for x in links.values() if _set_type(x, workflow)]
    _restore_ports(workflow)
    repairs = (
        (loose, "without an end: left out"),
        (twins, "drawn twice: one of each is left"),
        (mistyped, "of another kind than the compiler reads: corrected"),
    )
    remarks = [
        Remark(_DRAWING, "", f"{count(len(wires), 'wire')} {repair}.", to_do=False)
        for wires, repair in repairs
        if wires
    ]
    return [*remarks, *_secrets(workflow)]


def _has_ends(link: JsonObject, workflow: AdoptedWorkflow) -> bool:
    return all(
        link.get(f"{side}Port") in workflow.ports
        and workflow.ports[link[f"{side}Port"]][0] == link.get(side)
        for side in ("source", "target")
    )


def _remove(links: dict[str, JsonObject], keys: list[str]) -> None:
    for key in keys:
        del links[key]


def _twins(links: dict[str, JsonObject]) -> Iterator[str]:
    visited = set[tuple[str, str]]()
    for key, link in links.items():
        ends = link["sourcePort"], link["targetPort"]
        if ends in visited:
            yield key
        visited.add(ends)


def _set_type(link: JsonObject, workflow: AdoptedWorkflow) -> bool:
    """Give a link the type that its ends imply; return whether it changed."""
    out, port = (workflow.ports[link[x]][1] for x in ("sourcePort", "targetPort"))
    before, link["type"] = link.get("type"), workflow.link_type(out, port)
    return before != link["type"]


def _restore_ports(workflow: AdoptedWorkflow) -> None:
    """Give each port its own wires and missing fields, and each node its port order."""
    wires: dict[str, list[str]] = {}
    for key, link in workflow.links.items():
        for end in ("sourcePort", "targetPort"):
            wires.setdefault(link[end], []).append(key)
    for node in workflow.nodes.values():
        for port in node["ports"]:
            _restore_port(node, port, wires.get(port["id"], []))
        for order, is_in in (("portsInOrder", True), ("portsOutOrder", False)):
            ids = [x["id"] for x in node["ports"] if x["in"] is is_in]
            if sorted(node.get(order, ())) != sorted(ids):
                node[order] = ids


def _restore_port(node: JsonObject, port: JsonObject, wires: list[str]) -> None:
    listed = [x for x in port.get("links", ()) if x in wires]
    port["links"] = list(dict.fromkeys([*listed, *wires]))
    port.setdefault("varName", port["label"])
    if not port.get("dataType"):
        is_literal = node["name"].startswith(_LITERAL)
        port["dataType"] = node["extras"].get("type", "") if is_literal else port_type(port)


def _secrets(workflow: AdoptedWorkflow) -> Iterator[Remark]:
    """Yield literals that hold keys; their values are never printed."""
    for node_id, node in workflow.nodes.items():
        if _holds_a_key(node):
            text = (
                "a key stands in the file in plain text, for everyone who gets it. Use an argument "
                "of the type secret instead: it is asked for when the workflow runs."
            )
            yield Remark(node["name"], node_id, text, to_do=False)


def _holds_a_key(node: JsonObject) -> bool:
    if not node["name"].startswith(_LITERAL):
        return False
    return node["name"] == _SECRET or any(tokens_in_text(x["label"]) for x in node["ports"])
