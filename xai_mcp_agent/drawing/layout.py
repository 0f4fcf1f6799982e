"""Layout on the canvas: flows in rows that a laptop shows without scrolling sideways.

Literals stand to the left below their node, notes above it. Left of each node, and between rows, a
lane stays free: links between nodes that are not neighbours run there, in straight lines, so that
none crosses a node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from .nodes import Comment, Link, Node, Port
from .sizes import Point, port_point, size_of

# The canvas beside the file browser in a lab of 1,366 x 768 pixels, as on a small laptop.
VIEW_WIDTH, VIEW_HEIGHT, VIEW_MARGIN = 1040.0, 640.0, 24.0
READABLE = 0.7  # the smallest zoom at which text is readable
_ROOM_WIDTH, _ROOM_HEIGHT = VIEW_WIDTH - VIEW_MARGIN, VIEW_HEIGHT - 2 * VIEW_MARGIN
_ZOOMS = (1.0, 0.9, 0.8, READABLE)

_LANE = 40.0  # width of the lane left of each node
_LITERAL_GAP = 36.0  # from a literal in a port to its node
_LEAST_GAP = 14.0
_NOTE_GAP = 18.0
_ROW_GAP = 26.0  # between two rows, plus this for each link that runs there:
_LINE_GAP = 8.0

# Place of a link: in the lane left of the node at this index in this row (the last lane is right of
# all), or under this row.
_Lane: TypeAlias = tuple[int, int]
_LEFT_OF_ALL: _Lane = (-1, 0)


@dataclass(frozen=True)
class Box:
    """Rectangle that a node covers."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Return the x of the right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Return the y of the lower edge."""
        return self.y + self.height

    def is_near(self, other: Box, gap: float) -> bool:
        """Return whether they are closer than `gap`."""
        return (
            self.x < other.right + gap and other.x < self.right + gap
            and self.y < other.bottom + gap and other.y < self.bottom + gap
        )  # fmt: skip


@dataclass(frozen=True)
class View:
    """View of the canvas as a file stores it; `zoom` is in percent."""

    x: float
    y: float
    zoom: float


def lay_out(
    flows: Sequence[Sequence[Node]], notes: Sequence[Comment], links: Sequence[Link]
) -> Layout:
    """Return one row per flow if that is readable, else rows at the largest readable zoom.

    A flow that is too long for one window keeps that zoom; a person scrolls down.
    """
    layouts = [Layout(flows, notes, links, zoom) for zoom in _ZOOMS]
    smallest = layouts[-1]
    if smallest.fits and not smallest.is_wrapped:
        return smallest
    return next((x for x in layouts if x.fits), smallest)


class Layout:
    """Positions of all nodes, and the bends of links. Each flow, and each branch, begins a row.

    `boxes` has every drawn node, but no literal in a port. `is_wrapped`: a flow takes more than one
    row.
    """

    def __init__(
        self,
        flows: Sequence[Sequence[Node]],
        notes: Sequence[Comment],
        links: Sequence[Link],
        zoom: float,
    ) -> None:
        self.boxes: dict[Node, Box] = {}
        self._zoom = zoom
        self._widest = _ROOM_WIDTH / zoom
        self._links = {link.source: link for link in links}
        self._above = {x.owner: x.node for x in notes if not x.is_below}
        self._under = [x for x in notes if x.is_below]
        self._rows: list[list[tuple[Node, float]]] = []  # each node with its position from the left
        for flow in flows:
            self._add_flow(flow)
        self.is_wrapped = len(self._rows) > len(flows)
        self._slots = {
            node: (row, place)
            for row, nodes in enumerate(self._rows)
            for place, (node, _) in enumerate(nodes)
        }
        routes = {link: self._route(link) for link in links}
        self._routes = {link: route for link, route in routes.items() if route}
        self._settle_rows()
        self._lines = self._lines_in_lanes()

    @property
    def fits(self) -> bool:
        """Return whether all of it is visible at once."""
        return self._zoom_to_fit >= self._zoom

    @property
    def _zoom_to_fit(self) -> float:
        boxes = self.boxes.values()
        height = max(x.bottom for x in boxes) - min(x.y for x in boxes)
        width = max(x.right for x in boxes)
        return min(1.0, _ROOM_WIDTH / width, _ROOM_HEIGHT / height)

    def place(self, node: Node) -> Point:
        """Return the upper left corner of a node; a literal in a port stands beside that port."""
        if node in self.boxes:
            return Point(self.boxes[node].x, self.boxes[node].y)
        link = self._links[node]
        at = port_point(link.target, link.target_port, self.place(link.target))
        return Point(at.x - size_of(node)[0] - _LITERAL_GAP, at.y)

    def points(self, link: Link) -> list[Point]:
        """Return the ends and bends of a link; neighbours need no bends."""
        begin = port_point(link.source, link.source_port, self.place(link.source))
        end = port_point(link.target, link.target_port, self.place(link.target))
        if not (route := self._routes.get(link)):
            return [begin, end]
        x, *between, last = (self._lines[link, lane] for lane in route)
        points = [begin, Point(x, begin.y)]
        for number, at in enumerate(between):
            if number % 2:  # a lane between two rows that are not neighbours
                x = at
                points.append(Point(x, points[-1].y))
            else:
                points.append(Point(x, at))
        return [*points, Point(last, points[-1].y), Point(last, end.y), end]

    def view(self) -> View:
        """Return the view of the first rows, at a readable zoom."""
        zoom = max(self._zoom, self._zoom_to_fit)
        top = min(box.y for box in self.boxes.values())
        # Including the leftmost lane.
        return View(0, round(VIEW_MARGIN - top * zoom), round(zoom * 100))

    # Rows

    def _add_flow(self, flow: Sequence[Node]) -> None:
        row: list[tuple[Node, float]] = []
        self._rows.append(row)
        for node in flow:
            x = self._x_behind(row, node)
            right = x + max(size_of(node)[0], self._note_width(node))
            if row and (node.begins_row or right > self._widest):
                row = []
                self._rows.append(row)
                x = self._x_behind(row, node)
            row.append((node, x))

    def _x_behind(self, row: Sequence[tuple[Node, float]], node: Node) -> float:
        literals = max((size_of(x)[0] for x in node.literals), default=0.0)
        if not row:
            return _LANE + (literals + _LANE if literals else 0.0) + node.room_before
        last, x = row[-1]
        right = x + max(size_of(last)[0], literals)
        # Links enter later rows from above, past the notes; in the first row a note may be wider
        # than its node, up to the next note.
        is_first = row is self._rows[0]
        notes = row if node in self._above else ()
        others = [n + self._note_width(y) for y, n in (notes if is_first else row[-1:])]
        return max([right + node.room_before, *others]) + _LANE

    def _note_width(self, node: Node) -> float:
        return size_of(self._above[node])[0] if node in self._above else 0.0

    def _settle_rows(self) -> None:
        top = 0.0
        self._below: list[float] = []  # where the space under each row begins
        under = Counter(lane[0] for _, lane in self._used_lanes() if lane[1] < 0)
        for number, row in enumerate(self._rows):
            above = self._boxes_above(row)
            y = top - min((x.y for x in above.values()), default=0.0)
            self.boxes |= {node: replace(box, y=y + box.y) for node, box in above.items()}
            free = y  # below the previous node, for the literals of this one
            for node, x in row:
                self._stand(node, x, y, free)
                free = self.boxes[node].bottom + _LEAST_GAP
            nodes = [node for node, _ in row]
            for note in self._under:
                if note.owner in nodes:
                    self._put_under(note.node, self.boxes[note.owner])
            bottom = max(box.bottom for box in self.boxes.values())
            self._below.append(bottom)
            top = bottom + _ROW_GAP + _LINE_GAP * under[number]

    def _boxes_above(self, row: Sequence[tuple[Node, float]]) -> dict[Node, Box]:
        """Stack literals, and notes above them, over the nodes of a row."""
        boxes: dict[Node, Box] = {}
        for node, x in row:
            for literal in (z for z in node.literals if z.stands_above):
                wide, high = size_of(literal)
                boxes[literal] = Box(x - _LANE - wide, -high - _NOTE_GAP, wide, high)
        literals = list(boxes.values())
        for node, x in row:
            if note := self._above.get(node):
                wide, high = size_of(note)
                box = Box(x, -high - _NOTE_GAP, wide, high)
                top = min([0.0, *(z.y for z in literals if z.is_near(box, _LEAST_GAP))])
                boxes[note] = replace(box, y=top - high - _NOTE_GAP)
        return boxes

    def _stand(self, node: Node, x: float, y: float, free: float) -> None:
        width, height = size_of(node)
        self.boxes[node] = Box(x, y, width, height)
        for literal in (z for z in node.literals if not z.stands_above):
            # Below the port, so that no link to a port above it crosses.
            free = max(free, port_point(node, self._port_of(literal), Point(x, y)).y)
            wide, high = size_of(literal)
            self.boxes[literal] = Box(x - _LANE - wide, free, wide, high)
            free += high + _LEAST_GAP

    def _put_under(self, note: Node, owner: Box) -> None:
        box = Box(owner.x, owner.bottom + _NOTE_GAP, *size_of(note))
        others = list(self.boxes.values())
        while near := next((x for x in others if box.is_near(x, _LEAST_GAP)), None):
            box = replace(box, y=near.bottom + _LEAST_GAP)
        self.boxes[note] = box

    def _port_of(self, literal: Node) -> Port:
        return self._links[literal].target_port

    # Links

    def _route(self, link: Link) -> list[_Lane]:
        """Return the lanes that a link runs in; none for a curve between neighbours."""
        if link.source not in self._slots:
            return []  # a literal stands beside its node
        (row, place), (to_row, to_place) = self._slots[link.source], self._slots[link.target]
        if row == to_row and to_place == place + 1:
            return []
        route = [(row, place + 1), (row, -1)]
        if to_row not in (row, row + 1):
            route += [_LEFT_OF_ALL, (to_row - 1, -1)]
        return [*route, (to_row, to_place)]

    def _used_lanes(self) -> Iterator[tuple[Link, _Lane]]:
        for link, route in self._routes.items():
            yield from ((link, lane) for lane in route)

    def _lines_in_lanes(self) -> dict[tuple[Link, _Lane], float]:
        """Assign each link its offset in each of its lanes."""
        sharing: dict[_Lane, list[Link]] = {}
        for link, lane in self._used_lanes():
            sharing.setdefault(lane, []).append(link)
        return {
            (link, lane): self._line_at(lane, number, len(links))
            for lane, links in sharing.items()
            for number, link in enumerate(links)
        }

    def _line_at(self, lane: _Lane, number: int, count: int) -> float:
        row, place = lane
        if place < 0:
            return self._below[row] + _ROW_GAP / 2 + _LINE_GAP * number
        nodes = self._rows[row]
        if lane == _LEFT_OF_ALL:
            right = _LANE
        elif place < len(nodes):
            right = nodes[place][1]
        else:
            last, x = nodes[-1]
            right = x + max(size_of(last)[0], self._note_width(last)) + _LANE
        return round(right - _LANE + _LANE * (number + 1) / (count + 1), 1)
