"""What flows between tools, for the page of the graph: drawn as curves, and told in lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..console.text import count
from ..history.graph import Edge, Graph, Node
from ..history.wording import plain

_NAME_CHARS, _LABEL_CHARS, _REASON_CHARS = 200, 34, 400
# In units of the drawing; text is 13 high.
_WIDTH, _BOX, _ROW, _HIGH, _MARGIN = 960, 260, 46, 38, 8
_GIVES, _BOTH, _TAKES = 0, 1, 2


@dataclass(frozen=True)
class FlowLine:
    """One flow to read. `number` joins it to its curve."""

    number: int
    producer: str
    consumer: str
    field: str
    parameter: str
    score: str
    why: str
    strength: str


@dataclass(frozen=True)
class FlowBox:
    """A tool in the drawing."""

    x: int
    y: int
    name: str
    source: str
    title: str
    is_chosen: bool


@dataclass(frozen=True)
class FlowCurve:
    """A flow in the drawing: from the right side of a box to the left side of another."""

    line: FlowLine
    path: str
    head: str
    width: str


@dataclass(frozen=True)
class FlowDrawing:
    """The boxes in two or three columns, the curves between them, and the same in lines."""

    title: str
    lines: Sequence[FlowLine]
    boxes: Sequence[FlowBox]
    curves: Sequence[FlowCurve]
    notes: Sequence[str]
    height: int
    width: int = _WIDTH
    box: int = _BOX
    high: int = _HIGH


def flow_notes(graph: Graph) -> list[str]:
    """What a graph around something does not show of the flows, in sentences."""
    notes: list[str] = []
    if graph.focus and not graph.flows:
        notes.append("No tool gives anything that fits another one here.")
    if graph.flows_left_out:
        more = count(graph.flows_left_out, "flow")
        notes.append(f"{more} that fit less well are left out. A higher --limit shows more.")
    if graph.tools_unseen:
        unseen = count(graph.tools_unseen, "further tool")
        notes.append(f"No flows were looked for of {unseen} of the server. Name a tool.")
    return notes


def flow_drawing(graph: Graph) -> FlowDrawing | None:
    """The drawing of what flows; None for a graph that is not around anything."""
    if not graph.focus:
        return None
    nodes = {x.id: x for x in graph.nodes}
    chosen = [plain(_name(nodes[x]), _NAME_CHARS) for x in graph.focus]
    lines = [_line(number, edge, nodes) for number, edge in enumerate(graph.flows)]
    boxes = _placed(graph, nodes)
    curves = [
        _curve(line, boxes[ends[0]], boxes[ends[1]], edge)
        for line, edge, ends in zip(lines, graph.flows, _ends(graph), strict=True)
    ]
    height = max((x.y for x in boxes.values()), default=0) + _HIGH + _MARGIN
    return FlowDrawing(
        ", ".join(chosen), lines, list(boxes.values()), curves, flow_notes(graph), height
    )


def _line(number: int, edge: Edge, nodes: dict[str, Node]) -> FlowLine:
    flow = edge.flow
    assert flow is not None
    return FlowLine(
        number,
        plain(_name(nodes[edge.source]), _NAME_CHARS),
        plain(_name(nodes[edge.target]), _NAME_CHARS),
        plain(flow.field, _NAME_CHARS) or "result",
        plain(flow.parameter, _NAME_CHARS),
        f"{flow.score:.2f}",
        plain(flow.why, _REASON_CHARS),
        "strong" if flow.score >= 0.75 else "fair" if flow.score >= 0.5 else "weak",
    )


def _name(node: Node) -> str:
    source = node.subject.shown_source if node.subject and node.kind == "tool" else ""
    return f"{source}/{node.label}" if source else node.label


def _ends(graph: Graph) -> Iterator[tuple[tuple[str, int], tuple[str, int]]]:
    """The places of each flow: a tool that was asked for is in the middle, else there are two."""
    tools = {x.id for x in graph.nodes if x.kind == "tool" and x.id in graph.focus}
    for edge in graph.flows:
        if not tools:
            yield (edge.source, _GIVES), (edge.target, _TAKES)
        elif edge.target in tools:
            yield (edge.source, _GIVES), (edge.target, _BOTH)
        else:
            yield (edge.source, _BOTH), (edge.target, _TAKES)


def _placed(graph: Graph, nodes: dict[str, Node]) -> dict[tuple[str, int], FlowBox]:
    """A box for each tool in each column, the ones that fit best on top."""
    rows = [0, 0, 0]
    ends = list(_ends(graph))
    places = dict.fromkeys(x for pair in ends for x in pair)
    highest = max((sum(x[1] == column for x in places) for column in range(3)), default=0)
    found: dict[tuple[str, int], FlowBox] = {}
    for name, column in places:
        of_column = sum(x[1] == column for x in places)
        above = (highest - of_column) * _ROW // 2 if column == _BOTH else 0
        y = _MARGIN + above + rows[column] * _ROW
        rows[column] += 1
        found[name, column] = _box(nodes[name], column, y, name in graph.focus)
    return found


def _box(node: Node, column: int, y: int, is_chosen: bool) -> FlowBox:
    x = (_WIDTH - _BOX) * column // 2
    source = node.subject.shown_source if node.subject else ""
    return FlowBox(
        x, y, plain(node.label, _LABEL_CHARS) or "(no name)", plain(source, _LABEL_CHARS),
        plain(_name(node), _NAME_CHARS), is_chosen,
    )  # fmt: skip


def _curve(line: FlowLine, start: FlowBox, end: FlowBox, edge: Edge) -> FlowCurve:
    x, y, to_x, to_y = start.x + _BOX, start.y + _HIGH // 2, end.x, end.y + _HIGH // 2
    middle = (x + to_x) // 2
    width = 1 + 2 * (edge.flow.score if edge.flow else 0.0)
    path = f"M{x} {y}C{middle} {y} {middle} {to_y} {to_x} {to_y}"
    head = f"M{to_x - 9} {to_y - 5}L{to_x} {to_y}L{to_x - 9} {to_y + 5}z"
    return FlowCurve(line, path, head, f"{width:.1f}")
