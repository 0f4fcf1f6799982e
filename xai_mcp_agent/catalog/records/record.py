"""What the log comes to for one tool and for one source: the catalog's memory of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from ...history.subject import Subject

# Each bucket is this much wider than the one before, so that a duration is known to 2.5 %.
_BUCKET_GROWTH = math.log(1.05)
_SHORTEST_SECONDS = 1e-6
_MOST = 0.95

ToolState: TypeAlias = Literal["available", "at rest", "gone"]
"""at rest: its source is not connected, and would bring it along. gone: the source went on
without it."""


class Call(NamedTuple):
    """A call that was made; `error` is empty when it went well."""

    time: datetime
    seconds: float
    error: str


@dataclass(frozen=True, slots=True)
class Usage:
    """How often a tool was called, and how that went. `durations` counts them by size."""

    calls: int = 0
    errors: int = 0
    last_error: str = ""
    last_executed: datetime | None = None
    total_seconds: float = 0.0
    durations: Mapping[int, int] = field(default_factory=dict[int, int])

    @property
    def mean_seconds(self) -> float | None:
        """The mean duration of a call; None before the first."""
        return self.total_seconds / self.calls if self.calls else None

    @property
    def p95_seconds(self) -> float | None:
        """What 95 of 100 calls stay below, to 2.5 %; None before the first."""
        left = math.ceil(_MOST * self.calls)
        for bucket in sorted(self.durations):
            left -= self.durations[bucket]
            if left <= 0:
                return math.exp((bucket + 0.5) * _BUCKET_GROWTH)
        return None

    def with_calls(self, made: Iterable[Call]) -> Usage:
        """Some calls more, in their order."""
        calls, errors, last_error = self.calls, self.errors, self.last_error
        last_executed, total_seconds = self.last_executed, self.total_seconds
        durations = dict(self.durations)
        for call in made:
            calls += 1
            last_executed = call.time
            total_seconds += call.seconds
            bucket = math.floor(math.log(max(call.seconds, _SHORTEST_SECONDS)) / _BUCKET_GROWTH)
            durations[bucket] = durations.get(bucket, 0) + 1
            if call.error:
                errors, last_error = errors + 1, call.error
        return Usage(calls, errors, last_error, last_executed, total_seconds, durations)


NO_USAGE = Usage()
"""That of a tool that was never called."""


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """A tool that is or was there. `definition` is the digest of what its source said last.

    `reason` says why it is not `available`, and `unavailable_since` since when. `accepted` is the
    digest of the definition that pinned calls are held to. `updated` is when the definition was
    changed last, `last_seen` when it was told of last: see `last_seen` for a whole source.
    """

    subject: Subject
    created: datetime
    updated: datetime
    last_seen: datetime
    definition: str = ""
    is_available: bool = False
    unavailable_since: datetime | None = None
    reason: str = ""
    is_enabled: bool = True
    accepted: str = ""
    usage: Usage = NO_USAGE

    @property
    def name(self) -> str:
        """The name its source knows it by."""
        return self.subject.tool or ""


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """A source that was connected or tried. `runs` are those that have it connected now.

    `inventory` is the digest of what it listed last. `reason` says why it is not connected, and
    `disconnected_since` since when; `last_error` what went wrong last since it was listed well.
    """

    subject: Subject
    created: datetime
    runs: tuple[str, ...] = ()
    title: str = ""
    transport: str = ""
    tool_count: int = 0
    inventory: str = ""
    last_sync: datetime | None = None
    last_error: str = ""
    disconnected_since: datetime | None = None
    reason: str = ""

    @property
    def name(self) -> str:
        """Its name in the settings."""
        return self.subject.source

    @property
    def is_connected(self) -> bool:
        """Whether any run has it connected."""
        return bool(self.runs)

    def without(self, run: str) -> SourceRecord:
        """The same, when one run has let go of it."""
        return replace(self, runs=tuple(x for x in self.runs if x != run))


def state_of(tool: ToolRecord, source: SourceRecord | None) -> ToolState:
    """How a tool is doing; `source` is its own, or None for tools that are not connected to."""
    if tool.is_available:
        return "available"
    if source is None or source.is_connected:
        return "gone"
    # It went at the same moment if it went with its source, and else before.
    return "at rest" if tool.unavailable_since == source.disconnected_since else "gone"


def last_seen(tool: ToolRecord, source: SourceRecord | None) -> datetime:
    """When it was there last. That an inventory is as before is told of its source alone."""
    if source is None or source.last_sync is None or state_of(tool, source) == "gone":
        return tool.last_seen
    return max(tool.last_seen, source.last_sync)


def is_offered(tool: ToolRecord, source: SourceRecord | None) -> bool:
    """Whether its source offered it when it was last heard of, connected or not."""
    return bool(tool.definition) and state_of(tool, source) != "gone"
