"""Faults of a layout: boxes that cover or touch each other, and links over a node."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from xai_mcp_agent.drawing.layout import Box, Layout
from xai_mcp_agent.drawing.nodes import Node
from xai_mcp_agent.drawing.sizes import Point
from xai_mcp_agent.drawing.workflow import Workflow

_TOUCHING = 4.0
_CURVE = 50.0  # how far a link leaves a port straight on, as Xircuits draws it
_STEPS = 40  # of a line, that are looked at


def faults(flow: Workflow) -> list[str]:
    """Say which boxes cover each other, and which links run over a node."""
    layout = flow.layout()
    return [*overlaps(layout), *_run_over(flow, layout)]


def overlaps(layout: Layout) -> Iterator[str]:
    """Yield the boxes that cover or touch each other."""
    for (a, box), (b, other) in itertools.combinations(layout.boxes.items(), 2):
        if box.is_near(other, _TOUCHING):
            yield f"{_name(a)} covers or touches {_name(b)}"


def _run_over(flow: Workflow, layout: Layout) -> Iterator[str]:
    for link in flow.links:
        if not link.source.is_drawn:
            continue
        line = _line(layout.points(link))
        for node, box in layout.boxes.items():
            is_end = node in (link.source, link.target)
            if not is_end and any(_is_inside(point, box) for point in line):
                ends = f"{_name(link.source)} -> {_name(link.target)}"
                yield f"the link {ends} runs over {_name(node)}"


def _is_inside(point: Point, box: Box) -> bool:
    return box.x < point.x < box.right and box.y < point.y < box.bottom


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
