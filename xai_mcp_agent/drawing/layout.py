"""Where everything stands on the canvas, and whether anything covers or crosses anything.

A row runs from left to right; its literals stand below and to the left of the ports they are
for. A branch begins to the right of the node it belongs to. A later row moves up into the space
that is left. A node that a link between others would run over is raised above that link.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from .nodes import Link, Node, Note, Row
from .sizes import Point, port_point, size_of

_GAP = 46.0  # between nodes of a row: room for a link to be seen
_LITERAL_GAP = 36.0  # from a literal to the node it is for
_LEAST_GAP = 14.0  # between boxes that have nothing to do with each other
_NOTE_GAP = 18.0
_ROW_GAP = 40.0
_TOUCHING = 4.0
_CURVE = 50.0  # how far a link leaves a port straight on, as Xircuits draws it

# The canvas beside the file browser in a lab of 1,366 x 768 pixels, as on a small laptop.
VIEW_WIDTH, VIEW_HEIGHT, VIEW_MARGIN = 1040.0, 640.0, 24.0
READABLE = 0.7  # the least zoom in which texts can be read


@dataclass(frozen=True)
class Box:
    """What a node covers."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x of the right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y of the lower edge."""
        return self.y + self.height

    def moved(self, by: float) -> Box:
        """The same box further down; further up where `by` is negative."""
        return replace(self, y=self.y + by)

    def is_near(self, other: Box, beside: float = _LEAST_GAP, over: float = _LEAST_GAP) -> bool:
        """Whether less than `beside` is between them from left to right, and `over` up and down."""
        return (
            self.x < other.right + beside and other.x < self.right + beside
            and self.y < other.bottom + over and other.y < self.bottom + over
        )  # fmt: skip


@dataclass(frozen=True)
class View:
    """What a file says about the window on the canvas; `zoom` is in percent."""

    x: float
    y: float
    zoom: float


class Layout:
    """The places of all nodes of a workflow. `boxes` has every one that is drawn."""

    def __init__(self, rows: Sequence[Row], notes: Sequence[Note], links: Sequence[Link]) -> None:
        self.boxes: dict[Node, Box] = {}
        self._links = [link for link in links if link.is_drawn]
        self._holders = {link.source: link for link in links if not link.is_drawn}
        self._arrange(rows, notes)

    def _arrange(self, rows: Sequence[Row], notes: Sequence[Note]) -> None:
        for row in rows:
            over = [note for note in notes if note.above in row.nodes]
            right = self.boxes[row.after].right + _GAP if row.after else None
            self._settle(_row_boxes(row.nodes, over, right))
        self._raise_nodes_under_links()
        for note in notes:
            if note.below is not None:
                self._put_below(note.node, note.below)

    def place(self, node: Node) -> Point:
        """The upper left corner of a node; a literal in a port stands beside that port."""
        if node in self.boxes:
            return Point(self.boxes[node].x, self.boxes[node].y)
        link = self._holders[node]
        at = port_point(link.target, link.target_port, self.place(link.target))
        return Point(at.x - size_of(node)[0] - _LITERAL_GAP, at.y)

    def view(self) -> View:
        """The window that shows all of it, as large as it fits."""
        boxes = self.boxes.values()
        left, top = min(x.x for x in boxes), min(x.y for x in boxes)
        width, height = max(x.right for x in boxes) - left, max(x.bottom for x in boxes) - top
        room = VIEW_WIDTH - 2 * VIEW_MARGIN, VIEW_HEIGHT - 2 * VIEW_MARGIN
        zoom = min(1.0, room[0] / width, room[1] / height)
        return View(
            round(VIEW_MARGIN - left * zoom), round(VIEW_MARGIN - top * zoom), round(zoom * 100)
        )

    @property
    def can_be_read(self) -> bool:
        """Whether the window on all of it is large enough for its texts to be read."""
        return self.view().zoom >= 100 * READABLE

    def bends(self, link: Link) -> list[Point]:
        """Where a link turns on its way; none of one that is a curve."""
        return []

    def faults(self) -> list[str]:
        """Say which boxes cover each other, which links cross, and which run over a node."""
        return [*self._covered(), *self._crossed(), *self._run_over()]

    def _settle(self, row: dict[Node, Box]) -> None:
        """Put a row as high as it goes without touching what stands already."""
        down = _ROW_GAP - min(box.y for box in row.values()) if self.boxes else 0.0
        while near := self._nearest_above(row, down):
            down += near
        self.boxes |= {node: box.moved(down) for node, box in row.items()}

    def _nearest_above(self, row: dict[Node, Box], down: float) -> float:
        """How much further down the row must go for the first conflict there is."""
        for box in (x.moved(down) for x in row.values()):
            for other in self.boxes.values():
                if box.is_near(other, over=_ROW_GAP):
                    return other.bottom + _ROW_GAP - box.y
        return 0.0

    def _raise_nodes_under_links(self) -> None:
        for _, curve, node in list(self._links_over_nodes()):
            box = self.boxes[node]
            link_top = min(point.y for point in curve if box.x < point.x < box.right)
            up = link_top - _LEAST_GAP - box.bottom
            for raised in (node, *node.literals):
                self.boxes[raised] = self.boxes[raised].moved(up)

    def _put_below(self, note: Node, owner: Node) -> None:
        width, height = size_of(note)
        box = Box(self.boxes[owner].x, self.boxes[owner].bottom + _NOTE_GAP, width, height)
        self.boxes[note] = _lowered(box, self.boxes.values())

    def _covered(self) -> Iterator[str]:
        for (a, box), (b, other) in itertools.combinations(self.boxes.items(), 2):
            if box.is_near(other, _TOUCHING, _TOUCHING):
                yield f"{_called(a)} covers or touches {_called(b)}"

    def _crossed(self) -> Iterator[str]:
        curves = [(link, self._line(link)) for link in self._links]
        for (a, curve), (b, other) in itertools.combinations(curves, 2):
            shared = {a.source_port, a.target_port} & {b.source_port, b.target_port}
            if not shared and _meet(curve, other):
                yield f"the link {_described(a)} crosses {_described(b)}"

    def _run_over(self) -> Iterator[str]:
        for link, _, node in self._links_over_nodes():
            yield f"the link {_described(link)} runs over {_called(node)}"

    def _links_over_nodes(self) -> Iterator[tuple[Link, list[Point], Node]]:
        for link in self._links:
            curve = self._line(link)
            for node, box in self.boxes.items():
                is_end = node in (link.source, link.target)
                if not is_end and any(_inside(point, box) for point in curve):
                    yield link, curve, node

    def _line(self, link: Link) -> list[Point]:
        begin, end = self._ends(link)
        if not (bends := self.bends(link)):
            return _curve(begin, end)
        pieces = itertools.pairwise([begin, *bends, end])
        return [_between(a, b, step / 40) for a, b in pieces for step in range(41)]

    def _ends(self, link: Link) -> tuple[Point, Point]:
        return (
            port_point(link.source, link.source_port, self.place(link.source)),
            port_point(link.target, link.target_port, self.place(link.target)),
        )


def _row_boxes(
    row: Sequence[Node], notes: Sequence[Note], begins_at: float | None
) -> dict[Node, Box]:
    """The boxes of a row as if it stood alone, the upper edge of its nodes at 0.

    Its first node stands at `begins_at`; without that, everything is as far left as it can be.
    """
    boxes: dict[Node, Box] = {}
    x = begins_at or 0.0
    for node in row:
        width, height = size_of(node)
        x += node.room_before
        boxes[node] = Box(x, 0.0, width, height)
        for literal in node.literals:
            boxes[literal] = _lowered(_beside(literal, node, x), boxes.values())
        x += width + _GAP
    for note in notes:
        assert note.above is not None
        width, height = size_of(note.node)
        boxes[note.node] = Box(boxes[note.above].x, -height - _NOTE_GAP, width, height)
    left = min(box.x for box in boxes.values()) if begins_at is None else 0.0
    return {node: replace(box, x=box.x - left) for node, box in boxes.items()}


def _beside(literal: Node, node: Node, x: float) -> Box:
    """A literal at the height of its port, to the left of its node."""
    width, height = size_of(literal)
    target = next(p for p in node.ports if p.is_in and set(p.links) & set(literal.ports[0].links))
    y = port_point(node, target, Point(x, 0.0)).y
    y -= port_point(literal, literal.ports[0], Point(0.0, 0.0)).y
    return Box(x - _LITERAL_GAP - width, max(y, 0.0), width, height)


def _lowered(box: Box, others: Iterable[Box]) -> Box:
    """The box as low as needed to be free of the others."""
    others = list(others)
    while near := next((x for x in others if box.is_near(x)), None):
        box = replace(box, y=near.bottom + _LEAST_GAP)
    return box


def _between(a: Point, b: Point, t: float) -> Point:
    return Point(a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t)


def _curve(a: Point, b: Point) -> list[Point]:
    return [_on_curve(a, b, step / 40) for step in range(41)]


def _on_curve(a: Point, b: Point, t: float) -> Point:
    """The cubic curve that the canvas draws from an out-port to an in-port."""
    weights = (1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3
    xs, ys = (a.x, a.x + _CURVE, b.x - _CURVE, b.x), (a.y, a.y, b.y, b.y)
    return Point(
        sum(w * x for w, x in zip(weights, xs, strict=True)),
        sum(w * y for w, y in zip(weights, ys, strict=True)),
    )


def _meet(curve: list[Point], other: list[Point]) -> bool:
    pieces = itertools.product(itertools.pairwise(curve), itertools.pairwise(other))
    return any(_segments_meet(a, b, c, d) for (a, b), (c, d) in pieces)


def _segments_meet(a: Point, b: Point, c: Point, d: Point) -> bool:
    return _turn(a, b, c) * _turn(a, b, d) < 0 and _turn(c, d, a) * _turn(c, d, b) < 0


def _turn(a: Point, b: Point, c: Point) -> float:
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)


def _inside(point: Point, box: Box) -> bool:
    return box.x < point.x < box.right and box.y < point.y < box.bottom


def _called(node: Node) -> str:
    return node.key.partition("/")[2]


def _described(link: Link) -> str:
    ends = (link.source, link.source_port), (link.target, link.target_port)
    return " -> ".join(f"{_called(node)}:{port.name}" for node, port in ends)
