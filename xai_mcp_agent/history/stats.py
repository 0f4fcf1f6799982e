"""How often tools were called, how often they failed, and how long that took.

All that ever was is in the records of tools. Since a time the database counts, in one pass over
the calls: by tool and by size, so that no row of them has to be loaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from .event import Subject
from .records import MEDIAN, MOST, ToolRecord, percentile


@dataclass(frozen=True, slots=True)
class CallStats:
    """Calls of one tool, or of all tools of a source: then `subject` is the source.

    Half of the calls took no longer than `median_seconds`, 95 of 100 no longer than `p95_seconds`,
    at most 5 % more each; both are None for a source.
    """

    subject: Subject
    calls: int
    errors: int
    total_seconds: float
    last_used: datetime | None
    median_seconds: float | None = None
    p95_seconds: float | None = None

    @property
    def mean_seconds(self) -> float:
        """The mean duration of a call."""
        return self.total_seconds / self.calls


@dataclass(frozen=True, slots=True)
class Stats:
    """The calls of every tool that was called, by name, and the sums for their sources."""

    tools: list[CallStats] = field(default_factory=list[CallStats])
    sources: list[CallStats] = field(default_factory=list[CallStats])


@dataclass(slots=True)
class CountedCalls:
    """The calls of one tool, as they are counted by size."""

    errors: int = 0
    seconds: float = 0.0
    last: datetime | None = None
    durations: Counter[int] = field(default_factory=Counter[int])

    def stats(self, tool: Subject) -> CallStats:
        """What they come to."""
        return CallStats(
            tool, self.durations.total(), self.errors, self.seconds, self.last,
            percentile(self.durations, MEDIAN), percentile(self.durations, MOST),
        )  # fmt: skip


def stats_of_records(records: Iterable[ToolRecord]) -> Stats:
    """All calls there ever were; percentiles are of the recent ones."""
    return sorted_stats(
        CallStats(
            x.subject, x.usage.calls, x.usage.errors, x.usage.total_seconds, x.usage.last_executed,
            x.usage.median_seconds, x.usage.p95_seconds,
        )
        for x in records
        if x.usage.calls
    )  # fmt: skip


def sorted_stats(tools: Iterable[CallStats]) -> Stats:
    """By name, with the sums for their sources."""
    found = sorted(
        tools, key=lambda x: (x.subject.shown_source, x.subject.tool or "", x.subject.kind.name)
    )
    return Stats(found, list(_sums_of(found)))


def _sums_of(tools: Iterable[CallStats]) -> Iterable[CallStats]:
    found: dict[Subject, CallStats] = {}
    for tool in tools:
        source = tool.subject.anchor
        before = found.get(source, CallStats(source, 0, 0, 0.0, None))
        times = [x for x in (before.last_used, tool.last_used) if x]
        found[source] = replace(
            before,
            calls=before.calls + tool.calls,
            errors=before.errors + tool.errors,
            total_seconds=before.total_seconds + tool.total_seconds,
            last_used=max(times, default=None),
        )
    return found.values()
