"""Usage of tools: the number, outcomes and durations of their calls."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from .event import Event, Subject

# Each bucket is this much wider than the one before, so that a duration is known to 5 %.
_BUCKET_GROWTH = math.log(1.05)
_SHORTEST_SECONDS = 1e-6
_RECENT = 500  # calls in a window; a percentile covers this one and the one before


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage of a tool: the number, outcomes and durations of its calls.

    `durations` counts the calls of the current window by duration, `durations_before` those of the
    window before. `unknown` calls may have been carried out or not; `calls` does not count them.
    """

    calls: int = 0
    errors: int = 0
    last_error: str = ""
    last_executed: datetime | None = None
    total_seconds: float = 0.0
    durations: Mapping[int, int] = field(default_factory=dict[int, int])
    durations_before: Mapping[int, int] = field(default_factory=dict[int, int])
    unknown: int = 0

    @property
    def mean_seconds(self) -> float | None:
        """Return the mean duration of a call, or None before the first."""
        return self.total_seconds / self.calls if self.calls else None

    @property
    def p95_seconds(self) -> float | None:
        """Return the 95th percentile of recent calls, at most 5 % too high; None before the first.

        It covers the last 500 to 1,000 calls: a tool that became faster or slower soon shows it.
        """
        return _percentile(self._recent, 0.95)

    @property
    def median_seconds(self) -> float | None:
        """Return the median of recent calls, like `p95_seconds`."""
        return _percentile(self._recent, 0.5)

    def since(self, before: Usage) -> Usage:
        """Return the calls since `before`, an earlier state of it."""
        durations, durations_before = Counter(self.durations), Counter(self.durations_before)
        # All windows have the same size, so the numbers of calls identify them.
        match _window(self) - _window(before):
            case 0:
                durations -= Counter(before.durations)
                durations_before.clear()
            case 1:
                durations_before -= Counter(before.durations)
            case _:
                pass
        return replace(
            self,
            calls=self.calls - before.calls,
            errors=self.errors - before.errors,
            total_seconds=self.total_seconds - before.total_seconds,
            durations=durations,
            durations_before=durations_before,
            unknown=self.unknown - before.unknown,
        )

    @property
    def _recent(self) -> Counter[int]:
        recent = Counter(self.durations_before)
        recent.update(self.durations)
        return recent

    def with_calls(self, new_calls: Iterable[Event]) -> Usage:
        """Return the usage after some more calls, in order."""
        calls, errors, last_error = self.calls, self.errors, self.last_error
        last_executed, total_seconds = self.last_executed, self.total_seconds
        durations, before = dict(self.durations), self.durations_before
        room = _RECENT - sum(durations.values())  # of the current window
        for call in new_calls:
            if room <= 0:
                durations, before, room = {}, durations, _RECENT
            room -= 1
            calls += 1
            last_executed, seconds = call.time, call.payload.get("seconds", 0.0)
            total_seconds += seconds
            bucket = math.floor(math.log(max(seconds, _SHORTEST_SECONDS)) / _BUCKET_GROWTH)
            durations[bucket] = durations.get(bucket, 0) + 1
            if error := call.payload.get("error"):
                errors, last_error = errors + 1, error
        return Usage(
            calls, errors, last_error, last_executed, total_seconds, durations, before, self.unknown
        )  # fmt: skip


def _window(usage: Usage) -> int:
    """Return the number of the window of the last call."""
    return max(usage.calls - 1, 0) // _RECENT


def _percentile(durations: Counter[int], part: float) -> float | None:
    """Return a percentile of calls counted by bucket, or None without any."""
    remaining = math.ceil(part * durations.total())
    for bucket in sorted(durations):
        remaining -= durations[bucket]
        if remaining <= 0:
            # The end of the bucket, so that no call in it took longer.
            return math.exp((bucket + 1) * _BUCKET_GROWTH)
    return None


NO_USAGE = Usage()
"""Usage of a tool that was never called."""


@dataclass(frozen=True, slots=True)
class CallStats:
    """Usage of one tool, or of all tools of the source `subject`, which has no percentiles."""

    subject: Subject
    usage: Usage


@dataclass(frozen=True, slots=True)
class Stats:
    """Usage of every tool that was called, by name, and the sums for their sources."""

    tools: list[CallStats] = field(default_factory=list[CallStats])
    sources: list[CallStats] = field(default_factory=list[CallStats])


def stats_of(usages: Iterable[tuple[Subject, Usage]]) -> Stats:
    """Return the usage of these tools by name, and the sums for their sources."""
    tools = [CallStats(tool, usage) for tool, usage in usages if usage.calls]
    tools.sort(key=lambda x: (x.subject.source_name, x.subject.tool or "", x.subject.kind.name))
    sums: dict[Subject, Usage] = {}
    for tool in tools:
        source = tool.subject.anchor
        sums[source] = _sum(sums.get(source, NO_USAGE), tool.usage)
    return Stats(tools, [CallStats(source, usage) for source, usage in sums.items()])


def _sum(one: Usage, other: Usage) -> Usage:
    times = [x for x in (one.last_executed, other.last_executed) if x]
    return Usage(
        calls=one.calls + other.calls,
        errors=one.errors + other.errors,
        last_executed=max(times, default=None),
        total_seconds=one.total_seconds + other.total_seconds,
    )
