"""Faults of a layout: boxes that cover or touch each other, and links over a node."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from xai_mcp_agent.drawing.layout import Box
from xai_mcp_agent.drawing.nodes import Node
from xai_mcp_agent.drawing.sizes import Point
from xai_mcp_agent.drawing.workflow import Workflow

Line: TypeAlias = tuple[tuple[str, ...], Sequence[Point]]
"""The names of the boxes at its ends, and points on it."""

_TOUCHING = 4.0
_CURVE = 50.0  # how far a link leaves a port straight on, as Xircuits draws it
_STEPS = 40  # of a line, that are looked at


def faults(flow: Workflow) -> list[str]:
    """Say which boxes cover each other, and which links run over a node."""
    layout = flow.layout()
    boxes = {_name(node): box for node, box in layout.boxes.items()}
    lines = [
        ((_name(x.source), _name(x.target)), _line(layout.points(x)))
        for x in flow.links
        if x.source in layout.boxes
    ]
    return drawing_faults(boxes, lines, _TOUCHING)


def drawing_faults(boxes: Mapping[str, Box], lines: Iterable[Line], gap: float) -> list[str]:
    """Say which boxes are closer than `gap`, and which lines run over a box that is not an end."""
    covering = [
        f"{a} covers or touches {b}"
        for (a, box), (b, other) in itertools.combinations(boxes.items(), 2)
        if box.is_near(other, gap)
    ]
    crossing = [
        f"the line {' -> '.join(ends)} runs over {name}"
        for ends, points in lines
        for name, box in boxes.items()
        if name not in ends and any(Box(p.x, p.y, 0, 0).is_near(box, min(gap, 0)) for p in points)
    ]
    return covering + crossing


def _line(points: list[Point]) -> list[Point]:
    """Return points of a link: a curve, or straight lines between its turns."""
    steps = [n / _STEPS for n in range(_STEPS + 1)]
    begin, *turns, end = points
    if not turns:
        return [_on_curve(begin, end, t) for t in steps]
    return [
        Point(a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t)
        for a, b in itertools.pairwise(points)
        for t in steps
    ]


def _on_curve(a: Point, b: Point, t: float) -> Point:
    """Return the cubic curve that the canvas draws from an out-port to an in-port."""
    weights = (1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3
    xs, ys = (a.x, a.x + _CURVE, b.x - _CURVE, b.x), (a.y, a.y, b.y, b.y)
    return Point(
        sum(w * x for w, x in zip(weights, xs, strict=True)),
        sum(w * y for w, y in zip(weights, ys, strict=True)),
    )


def _name(node: Node) -> str:
    return node.key.partition("/")[2]
