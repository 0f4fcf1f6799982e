"""The board of results by row and client, as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .environments import Environment
from .peers import CONTROL, OURS, Peer
from .steps import Found, Row, Step

_NO_FIGURE = "-"
_DOORS = {OURS.name: "in an agent"}


@dataclass
class Cell:
    """All passes of one row with one peer."""

    samples: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_failed: bool = False

    def add(self, found: Found) -> None:
        """Take in one more pass."""
        self.samples += found.samples
        self.is_failed |= found.is_failed
        if found.note and found.note not in self.notes:
            self.notes.append(found.note)

    @property
    def median(self) -> float | None:
        """The median of the samples, or None without any."""
        return statistics.median(self.samples) if self.samples else None

    def text(self, unit: str) -> str:
        """The median, and the notes on it."""
        notes = ", ".join(self.notes)
        if self.median is None:
            return notes or _NO_FIGURE
        shown = _figure(self.median, unit)
        also = "not every time: " if self.is_failed else ""
        return f"{shown} {also}{notes}".strip()


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

    def add(self, peer: Peer, found: Mapping[str, Found]) -> None:
        """Take in one pass of one step."""
        for step in self._steps:
            for row in step.rows:
                if row.key in found:
                    self.cell(row, peer).add(found[row.key])

    @property
    def rows(self) -> list[Row]:
        """All rows, in order."""
        return [row for step in self._steps for row in step.rows]

    def markdown(self) -> str:
        """All tables, and the versions."""
        return "\n\n".join([self._table(), *self._doors(), self._versions()])

    def _first(self, row: Row) -> Peer | None:
        """Return the best client of those that never failed; the bare client does not compete."""
        takes_part = [x for x in self.peers if x is not CONTROL and not x.is_another_door]
        cells = {peer: self.cell(row, peer) for peer in takes_part}
        medians = {
            peer: cell.median
            for peer, cell in cells.items()
            if cell.median is not None and not cell.is_failed
        }
        return min(medians, key=lambda peer: medians[peer]) if medians else None

    def _table(self) -> str:
        peers = [peer for peer in self.peers if not peer.is_another_door]
        lines = [["", *(peer.name for peer in peers)]]
        for row in self.rows:
            first = self._first(row)
            texts = [self.cell(row, peer).text(row.unit) for peer in peers]
            marked = [
                f"**{text}**" if peer is first else text
                for peer, text in zip(peers, texts, strict=True)
            ]
            lines.append([f"{row.title}, {row.unit}" if row.unit != "x" else row.title, *marked])
        return _markdown(lines)

    def _doors(self) -> Iterator[str]:
        """The bridge's calls, by where they come from."""
        doors = [x for x in self.peers if x is OURS or x.is_another_door]
        rows = [row for row in self.rows if row.unit == "x"]
        if len(doors) > 1 and rows:
            lines = [["calls of the bridge", *(_DOORS.get(x.name, x.name) for x in doors)]]
            for row in rows:
                lines.append([row.title, *(self.cell(row, x).text(row.unit) for x in doors)])
            yield _markdown(lines)

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
    """With as many places as can be meant."""
    if unit == "ms":
        value *= 1000
        return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}"


def _markdown(lines: list[list[str]]) -> str:
    head, *rest = lines
    table = [head, ["---"] * len(head), *rest]
    return "\n".join(f"| {' | '.join(x.replace('|', '/') for x in line)} |" for line in table)
