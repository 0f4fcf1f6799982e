"""Flows between tools, for the page of the graph."""

from __future__ import annotations

from collections.abc import Mapping

from ..console.text import count
from ..core.json import JsonObject
from ..history.graph import Graph, GraphEdge, GraphNode
from ..history.wording import plain

_NAME_CHARS, _REASON_CHARS = 200, 400


def flow_notes(graph: Graph) -> list[str]:
    """Return sentences about flows that the graph leaves out."""
    notes: list[str] = []
    if graph.focus and not graph.flows:
        notes.append("No result here fits a parameter of another tool.")
    if graph.flows_left_out:
        more = count(graph.flows_left_out, "flow")
        notes.append(f"{more} that fit less well are left out. A higher --limit shows more.")
    if graph.tools_unseen:
        unseen = count(graph.tools_unseen, "further tool")
        notes.append(f"Flows were not searched for {unseen} of the server. Name a tool.")
    return notes


def flow_lines(graph: Graph) -> list[JsonObject]:
    """Return the flows to read, the best first."""
    names = {x.id: _name(x) for x in graph.nodes}
    return [_line(x, names) for x in graph.flows]


def flow_title(graph: Graph) -> str:
    """Return the tools that the graph is about, or "" for the graph of all."""
    return ", ".join(_name(x) for x in graph.nodes if x.id in graph.focus)


def _line(edge: GraphEdge, names: Mapping[str, str]) -> JsonObject:
    flow = edge.flow
    assert flow is not None
    return {
        "producer": names[edge.source],
        "consumer": names[edge.target],
        "field": plain(flow.field, _NAME_CHARS) or "result",
        "parameter": plain(flow.parameter, _NAME_CHARS),
        "score": f"{flow.score:.2f}",
        "why": plain(flow.why, _REASON_CHARS),
    }


def _name(node: GraphNode) -> str:
    source = node.subject.source_name if node.subject and node.kind == "tool" else ""
    return plain(f"{source}/{node.label}" if source else node.label, _NAME_CHARS)
