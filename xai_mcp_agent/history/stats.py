"""How often tools were called, how often they failed, and how long that took."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from .event import Subject
from .usage import Usage


@dataclass(frozen=True, slots=True)
class CallStats:
    """Calls of one tool, or of all tools of a source: then `subject` is the source.

    Half of the calls took at most `median_seconds`, 95 of 100 at most `p95_seconds`, each at most 5
    % too high; both are None for a source.
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
        """Return the mean duration of a call."""
        return self.total_seconds / self.calls


@dataclass(frozen=True, slots=True)
class Stats:
    """Calls of every tool, by name, and the sums for their sources."""

    tools: list[CallStats] = field(default_factory=list[CallStats])
    sources: list[CallStats] = field(default_factory=list[CallStats])


def stats_of(usages: Iterable[tuple[Subject, Usage]]) -> Stats:
    """Return the calls of these tools by name, and the sums for their sources."""
    tools = [
        CallStats(
            tool, usage.calls, usage.errors, usage.total_seconds, usage.last_executed,
            usage.median_seconds, usage.p95_seconds,
        )
        for tool, usage in usages
        if usage.calls
    ]  # fmt: skip
    tools.sort(key=lambda x: (x.subject.shown_source, x.subject.tool or "", x.subject.kind.name))
    return Stats(tools, list(_sums_of(tools)))


def _sums_of(tools: Iterable[CallStats]) -> Iterable[CallStats]:
    sums: dict[Subject, CallStats] = {}
    for tool in tools:
        source = tool.subject.anchor
        before = sums.get(source, CallStats(source, 0, 0, 0.0, None))
        times = [x for x in (before.last_used, tool.last_used) if x]
        sums[source] = replace(
            before,
            calls=before.calls + tool.calls,
            errors=before.errors + tool.errors,
            total_seconds=before.total_seconds + tool.total_seconds,
            last_used=max(times, default=None),
        )
    return sums.values()
