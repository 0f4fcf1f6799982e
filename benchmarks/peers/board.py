"""The board of results by row and client, as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .. import page
from .environments import Environment
from .peers import CONTROL, OURS, Peer
from .steps import Measurement, Row, Step

_NO_FIGURE = "-"
_DOORS = {OURS.name: "in an agent"}


@dataclass
class Cell:
    """All passes of one row with one peer."""

    samples: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_failed: bool = False

    def add(self, measurement: Measurement) -> None:
        """Add one more pass."""
        self.samples += measurement.samples
        self.is_failed |= measurement.is_failed
        if measurement.note and measurement.note not in self.notes:
            self.notes.append(measurement.note)

    @property
    def median(self) -> float | None:
        """The median of the samples, or None without any."""
        return statistics.median(self.samples) if self.samples else None

    def text(self, unit: str) -> str:
        """Return the median, and its notes."""
        notes = ", ".join(self.notes).replace("|", "/")
        if self.median is None:
            return notes or _NO_FIGURE
        sometimes = "not every time: " if self.is_failed else ""
        return f"{_figure(self.median, unit)} {sometimes}{notes}".strip()


class Board:
    """The figures of one run."""

    def __init__(self, steps: Sequence[Step], environments: Mapping[Peer, Environment]) -> None:
        self._steps = steps
        self._environments = environments
        self.peers = list(environments)
        self._cells: dict[tuple[str, str], Cell] = {}

    def cell(self, row: Row, peer: Peer) -> Cell:
        """Return the cell of a row and a client."""
        return self._cells.setdefault((row.key, peer.name), Cell())

    def add(self, peer: Peer, measurements: Mapping[str, Measurement]) -> None:
        """Add one pass of one step."""
        for row in self.rows:
            if row.key in measurements:
                self.cell(row, peer).add(measurements[row.key])

    @property
    def rows(self) -> list[Row]:
        """All rows, in order."""
        return [row for step in self._steps for row in step.rows]

    def markdown(self) -> str:
        """Return all tables, and the versions."""
        return "\n\n".join([self._table(), *self._doors(), self._versions()])

    def _first(self, row: Row) -> Peer | None:
        """Return the best client of those that never failed; the bare client does not compete."""
        medians: dict[Peer, float] = {}
        for peer in self.peers:
            cell = self.cell(row, peer)
            competes = peer is not CONTROL and not peer.is_another_door and not cell.is_failed
            if competes and cell.median is not None:
                medians[peer] = cell.median
        return min(medians, key=lambda peer: medians[peer], default=None)

    def _table(self) -> str:
        peers = [peer for peer in self.peers if not peer.is_another_door]
        rows: list[list[str]] = []
        for row in self.rows:
            first = self._first(row)
            cells = [f"{row.title}, {row.unit}" if row.unit != "x" else row.title]
            for peer in peers:
                text = self.cell(row, peer).text(row.unit)
                cells.append(f"**{text}**" if peer is first else text)
            rows.append(cells)
        return page.table(["", *(peer.name for peer in peers)], rows)

    def _doors(self) -> Iterator[str]:
        """Yield the bridge's calls, by where they come from."""
        doors = [x for x in self.peers if x is OURS or x.is_another_door]
        rows = [row for row in self.rows if row.unit == "x"]
        if len(doors) > 1 and rows:
            head = ["calls of the bridge", *(_DOORS.get(x.name, x.name) for x in doors)]
            cells = ([x.title, *(self.cell(x, y).text(x.unit) for y in doors)] for x in rows)
            yield page.table(head, cells)

    def _versions(self) -> str:
        clients = (
            f"{peer.name} {versions.get(peer.package, 'this checkout')} "
            f"({versions.get('mcp', _NO_FIGURE)})"
            for peer in self.peers
            if not peer.is_another_door
            for versions in [self._environments[peer].versions]
        )
        return f"Versions, and those of the SDK: {', '.join(clients)}."


def _figure(value: float, unit: str) -> str:
    """Return the value with two significant places or so."""
    if unit == "ms":
        value *= 1000
        return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}"
