"""Flows in rows that a laptop shows without scrolling to the right.

Literals stand to the left below the node they are for, notes above it. To the left of each node,
and between the rows, is a lane that nothing stands in: links between nodes that are no neighbours
run there, in straight lines, so that none runs over a node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .layout import READABLE, VIEW_HEIGHT, VIEW_MARGIN, VIEW_WIDTH, Box, Layout, View
from .nodes import Link, Node, Note, Port, Row
from .sizes import Point, port_point, size_of

_LANE = 40.0  # the width of a lane, to the left of each node
_LEAST_GAP = 14.0
_NOTE_GAP = 18.0
_ROW_GAP = 26.0  # between two rows, and besides for each link that runs there:
_LINE_GAP = 8.0
_ROOM = VIEW_WIDTH - 2 * VIEW_MARGIN
_ZOOMS = (1.0, 0.9, 0.8, READABLE)

# Where a link runs: in the lane left of the node of this place in this row (the last one is that
# right of all), or under this row.
_Lane: TypeAlias = tuple[int, int]
_LEFT_OF_ALL: _Lane = (-1, 0)


@dataclass(frozen=True)
class _Slot:
    """Where a node stands: its row and place there, and how far from the left."""

    row: int
    place: int
    x: float


def in_rows(rows: Sequence[Row], notes: Sequence[Note], links: Sequence[Link]) -> Grid:
    """Everything as large as all of it can be seen at once; else as it can be read, to scroll down.

    A row may be longer where it is seen from farther away.
    """
    tried = (Grid(rows, notes, links, zoom) for zoom in _ZOOMS)
    return next((x for x in tried if x.fits), None) or Grid(rows, notes, links, READABLE)


class Grid(Layout):
    """The places of all nodes, and the bends of links. Each flow, and each branch, begins a row."""

    def __init__(
        self, rows: Sequence[Row], notes: Sequence[Note], links: Sequence[Link], zoom: float = 1.0
    ) -> None:
        self._zoom = zoom
        self._widest = _ROOM / zoom
        super().__init__(rows, notes, links)

    @property
    def fits(self) -> bool:
        """Whether all of it is seen at once."""
        boxes = self.boxes.values()
        height = max(x.bottom for x in boxes) - min(x.y for x in boxes)
        return height * self._zoom <= VIEW_HEIGHT - 2 * VIEW_MARGIN

    def _arrange(self, rows: Sequence[Row], notes: Sequence[Note]) -> None:
        self._notes = {note.above: note.node for note in notes if note.above is not None}
        self._under = {note.below: note.node for note in notes if note.below is not None}
        self._rows = [part for row in rows for part in self._wrapped(row.nodes)]
        self._slots = {
            node: _Slot(row, place, x)
            for row, nodes in enumerate(self._rows)
            for place, (node, x) in enumerate(nodes)
        }
        self._routes = {link: self._route(link) for link in self._links}
        self._settle_rows()
        self._lines = self._lines_in_lanes()

    def bends(self, link: Link) -> list[Point]:
        """Where a link turns on its way from a node to one that is not its neighbour."""
        route = self._routes.get(link)
        if not route:
            return []
        (begin, end), lines = self._ends(link), self._lines
        first, *between, last = (lines[link, lane] for lane in route)
        points = [Point(first, begin.y)]
        x = first
        for number, at in enumerate(between):
            if number % 2:  # a lane between two rows that are no neighbours
                points += [Point(at, points[-1].y)]
                x = at
            else:
                points += [Point(x, at)]
        points += [Point(last, points[-1].y), Point(last, end.y)]
        return points

    def faults(self) -> list[str]:
        """Say which boxes cover each other, and which links run over a node."""
        return [*self._covered(), *self._run_over()]

    def view(self) -> View:
        """The window on the first rows, in which texts can be read."""
        whole = super().view()
        zoom = max(whole.zoom / 100, self._zoom)
        top = min(x.y for x in self.boxes.values())
        # With the lane that is left of all.
        return View(0, round(VIEW_MARGIN - top * zoom), round(zoom * 100))

    # Rows

    def _wrapped(self, flow: Sequence[Node]) -> list[list[tuple[Node, float]]]:
        rows: list[list[tuple[Node, float]]] = [[]]
        for node in flow:
            x = self._x_behind(rows[-1], node)
            if rows[-1] and (node.begins_row or x + self._width(node) > self._widest):
                rows.append([])
                x = self._x_behind([], node)
            rows[-1].append((node, x))
        return rows

    def _x_behind(self, row: Sequence[tuple[Node, float]], node: Node) -> float:
        literals = max((size_of(x)[0] for x in node.literals), default=0.0)
        if not row:
            return _LANE + (literals + _LANE if literals else 0.0) + node.room_before
        last, x = row[-1]
        return x + max(self._width(last), literals) + _LANE + node.room_before

    def _width(self, node: Node) -> float:
        note = self._notes.get(node)
        return max(size_of(node)[0], size_of(note)[0] if note else 0.0)

    def _settle_rows(self) -> None:
        top = 0.0
        self._below: list[float] = []  # where the room under each row begins
        under = Counter(lane[0] for _, lane in self._used() if lane[1] < 0)
        for number, row in enumerate(self._rows):
            notes = [size_of(x)[1] for node, _ in row if (x := self._notes.get(node))]
            y = top + (max(notes) + _NOTE_GAP if notes else 0.0)
            before: Node | None = None
            for node, x in row:
                self._stand(node, x, y, before)
                before = node
            bottom = max(box.bottom for box in self.boxes.values())
            self._below.append(bottom)
            top = bottom + _ROW_GAP + _LINE_GAP * under[number]

    def _stand(self, node: Node, x: float, y: float, before: Node | None) -> None:
        width, height = size_of(node)
        self.boxes[node] = Box(x, y, width, height)
        if note := self._notes.get(node):
            wide, high = size_of(note)
            self.boxes[note] = Box(x, y - high - _NOTE_GAP, wide, high)
        if note := self._under.get(node):
            self.boxes[note] = Box(x, y + height + _NOTE_GAP, *size_of(note))
        free = self.boxes[before].bottom + _LEAST_GAP if before else y
        for literal in node.literals:
            # Below the port: no link to a port above it comes across.
            free = max(free, port_point(node, self._port_of(literal), Point(x, y)).y)
            wide, high = size_of(literal)
            self.boxes[literal] = Box(x - _LANE - wide, free, wide, high)
            free += high + _LEAST_GAP

    def _port_of(self, literal: Node) -> Port:
        return next(link.target_port for link in self._links if link.source is literal)

    # Links

    def _route(self, link: Link) -> list[_Lane]:
        """The lanes that a link runs in; none where it is a curve between neighbours."""
        if link.source not in self._slots or link.target not in self._slots:
            return []
        a, b = self._slots[link.source], self._slots[link.target]
        if a.row == b.row and b.place == a.place + 1:
            return []
        route = [(a.row, a.place + 1), (a.row, -1)]
        if b.row not in (a.row, a.row + 1):
            route += [_LEFT_OF_ALL, (b.row - 1, -1)]
        return [*route, (b.row, b.place)]

    def _used(self) -> Iterator[tuple[Link, _Lane]]:
        for link, route in self._routes.items():
            yield from ((link, lane) for lane in route)

    def _lines_in_lanes(self) -> dict[tuple[Link, _Lane], float]:
        """How far right, or down, each link runs in each of its lanes."""
        sharing: dict[_Lane, list[Link]] = {}
        for link, lane in self._used():
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
            right = x + self._width(last) + _LANE
        return round(right - _LANE + _LANE * (number + 1) / (count + 1), 1)
