"""Flows between tools for the page of the graph: as curves, and as lines to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ..console.text import count
from ..core.json import JsonObject
from ..history.graph import Graph, GraphEdge, GraphNode
from ..history.wording import plain

_NAME_CHARS, _LABEL_CHARS, _REASON_CHARS = 200, 34, 400
# In units of the drawing; text is 13 high.
_WIDTH, _BOX, _ROW, _HIGH, _MARGIN = 960, 260, 46, 38, 8
_GIVES, _BOTH, _TAKES = 0, 1, 2

_Place: TypeAlias = tuple[str, int]
"""A tool by its id, and its column."""


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


def flow_drawing(graph: Graph) -> JsonObject | None:
    """Return boxes in two or three columns, curves between them, and lines to read.

    It is None for a graph without a centre.
    """
    if not graph.focus:
        return None
    nodes = {x.id: x for x in graph.nodes}
    ends = _ends(graph)
    boxes = _boxes(graph, nodes, ends)
    lines = [_line(number, edge, nodes) for number, edge in enumerate(graph.flows)]
    return {
        "title": ", ".join(_name(nodes[x]) for x in graph.focus),
        "lines": lines,
        "boxes": list(boxes.values()),
        "curves": [
            _curve(line, boxes[source], boxes[target])
            for line, (source, target) in zip(lines, ends, strict=True)
        ],
        "notes": flow_notes(graph),
        "height": max((x["y"] for x in boxes.values()), default=0) + _HIGH + _MARGIN,
        "width": _WIDTH,
        "box": _BOX,
        "high": _HIGH,
    }


def _line(number: int, edge: GraphEdge, nodes: Mapping[str, GraphNode]) -> JsonObject:
    """Return one flow to read. `number` refers to its curve."""
    flow = edge.flow
    assert flow is not None
    return {
        "number": number,
        "producer": _name(nodes[edge.source]),
        "consumer": _name(nodes[edge.target]),
        "field": plain(flow.field, _NAME_CHARS) or "result",
        "parameter": plain(flow.parameter, _NAME_CHARS),
        "score": f"{flow.score:.2f}",
        "width": f"{1 + 2 * flow.score:.1f}",
        "why": plain(flow.why, _REASON_CHARS),
        "strength": "strong" if flow.score >= 0.75 else "fair" if flow.score >= 0.5 else "weak",
    }


def _name(node: GraphNode) -> str:
    source = node.subject.source_name if node.subject and node.kind == "tool" else ""
    return plain(f"{source}/{node.label}" if source else node.label, _NAME_CHARS)


def _ends(graph: Graph) -> list[tuple[_Place, _Place]]:
    """Return the ends of each flow; the requested tool, if any, is in the middle."""
    tools = {x.id for x in graph.nodes if x.kind == "tool" and x.id in graph.focus}
    return [
        (
            (x.source, _BOTH if tools and x.target not in tools else _GIVES),
            (x.target, _BOTH if x.target in tools else _TAKES),
        )
        for x in graph.flows
    ]


def _boxes(
    graph: Graph, nodes: Mapping[str, GraphNode], ends: Sequence[tuple[_Place, _Place]]
) -> dict[_Place, JsonObject]:
    """Return a box for each tool in each column, the best fits on top."""
    places = dict.fromkeys(x for pair in ends for x in pair)
    sizes = Counter(column for _, column in places)
    rows: Counter[int] = Counter()
    boxes: dict[_Place, JsonObject] = {}
    for name, column in places:
        node = nodes[name]
        above = (max(sizes.values()) - sizes[column]) * _ROW // 2 if column == _BOTH else 0
        boxes[name, column] = {
            "x": (_WIDTH - _BOX) * column // 2,
            "y": _MARGIN + above + rows[column] * _ROW,
            "name": plain(node.label, _LABEL_CHARS) or "(no name)",
            "source": plain(node.subject.source_name if node.subject else "", _LABEL_CHARS),
            "title": _name(node),
            "is_chosen": name in graph.focus,
        }
        rows[column] += 1
    return boxes


def _curve(line: JsonObject, start: Mapping[str, Any], end: Mapping[str, Any]) -> JsonObject:
    """Return a curve from the right side of a box to the left side of another."""
    x, y, to_x, to_y = start["x"] + _BOX, start["y"] + _HIGH // 2, end["x"], end["y"] + _HIGH // 2
    middle = (x + to_x) // 2
    return {
        "line": line,
        "path": f"M{x} {y}C{middle} {y} {middle} {to_y} {to_x} {to_y}",
        "head": f"M{to_x - 9} {to_y - 5}L{to_x} {to_y}L{to_x - 9} {to_y + 5}z",
    }
