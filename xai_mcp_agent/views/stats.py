"""Statistics of calls: as JSON, and as a table to read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from ..console.text import clean, columns, count, cut
from ..core.json import JsonObject
from ..history.usage import CallStats, Stats, Usage
from .history import subject_text
from .times import seconds_text, time_text, utc_text

Order: TypeAlias = Literal["calls", "errors", "slow"]

NO_CALLS = "No tool was called."
_BY: dict[Order, Callable[[Usage], tuple[float, ...]]] = {
    "calls": lambda x: (x.calls,),
    "errors": lambda x: (x.errors, x.errors / x.calls),
    "slow": lambda x: (x.p95_seconds or x.mean_seconds or 0, x.mean_seconds or 0),
}
_HEAD = ("calls", "failed", "median", "p95", "last used")
_LEAST_NAME = 16  # columns


@dataclass(frozen=True)
class _Row:
    name: str
    cells: Sequence[str]


def sorted_stats(stats: Stats, order: Order) -> Stats:
    """Sort by most calls, most errors, or the slowest."""

    def by(one: CallStats) -> tuple[float, ...]:
        return _BY[order](one.usage)

    return Stats(
        sorted(stats.tools, key=by, reverse=True), sorted(stats.sources, key=by, reverse=True)
    )


def stats_json(stats: Stats, since: datetime | None) -> JsonObject:
    """Return all fields of the statistics, with names of tools, and their start time."""
    return {
        "since": utc_text(since),
        "tools": [_json(x) for x in stats.tools],
        "sources": [_json(x) for x in stats.sources],
    }


def stats_text(stats: Stats, width: int) -> str:
    """Return a table of at most `width` columns: each tool, then each server."""
    if not stats.tools:
        return NO_CALLS
    head = _Row("", _HEAD)
    tools = [_row(subject_text(x.subject), x.usage) for x in stats.tools]
    sources = [_row(_of_source(x, stats), x.usage) for x in stats.sources]
    cells = [max(len(x.cells[n]) for x in (head, *tools, *sources)) for n in range(len(_HEAD))]
    room = max(width - sum(cells) - 2 * len(cells), _LEAST_NAME)
    name = min(room, max(columns(x.name) for x in (*tools, *sources)))
    lines = [_line(x, name, cells) for x in (head, *tools)]
    return "\n".join([*lines, "", *(_line(x, name, cells) for x in sources)])


def _of_source(source: CallStats, stats: Stats) -> str:
    tools = sum(x.subject.anchor == source.subject for x in stats.tools)
    return f"{source.subject.source_name} ({count(tools, 'tool')})"


def _row(name: str, of: Usage) -> _Row:
    durations = (of.median_seconds, of.p95_seconds)
    last = time_text(of.last_executed)[:-3] if of.last_executed else ""
    failed = f"{of.errors:,}" if of.errors else "-"
    times = (seconds_text(x) if x is not None else "" for x in durations)
    return _Row(clean(name), (f"{of.calls:,}", failed, *times, last))


def _line(row: _Row, name: int, cells: Sequence[int]) -> str:
    label = cut(row.name, name)
    aligned = (f"{cell:>{size}}" for cell, size in zip(row.cells, cells, strict=True))
    return "  ".join((label + " " * (name - columns(label)), *aligned)).rstrip()


def _json(of: CallStats) -> JsonObject:
    subject, usage = of.subject, of.usage
    names = {"server": subject.source_name, "kind": subject.kind.name}
    counts: JsonObject = {
        "calls": usage.calls, "errors": usage.errors, "mean_seconds": usage.mean_seconds,
        "last_used": utc_text(usage.last_executed),
    }  # fmt: skip
    if subject.tool is None:
        return names | counts
    percentiles = {"median_seconds": usage.median_seconds, "p95_seconds": usage.p95_seconds}
    return {**names, "tool": subject.tool, **counts, **percentiles}
