"""Pauses between attempts, each longer than the last."""

from __future__ import annotations

import anyio

STABLE_SECONDS = 30.0
"""A connection that stayed open this long did not fail while opening."""

_MOST_STEPS = 60  # failing for a day means a thousand tries, and 2.0**1024 overflows


class Backoff:
    """Pauses before reopening something, each `growth` times as long as the last.

    `tries` counts attempts in a row. An attempt that stayed open for `STABLE_SECONDS` starts a new
    row.
    """

    def __init__(
        self, first_seconds: float = 1.0, longest_seconds: float = 60.0, growth: float = 2.0
    ) -> None:
        self.tries = 0
        self._growth = growth
        self._first = first_seconds
        self._longest = longest_seconds
        self._opened_at: float | None = None

    @property
    def seconds(self) -> float:
        """The pause before the next try; 0 before the first."""
        if not self.tries:
            return 0.0
        return min(self._first * self._growth ** min(self.tries - 1, _MOST_STEPS), self._longest)

    def count(self, opened_at: float | None = None) -> None:
        """Count a try that ended; `opened_at` is when it opened, or None if it never did."""
        was_stable = opened_at is not None and anyio.current_time() - opened_at > STABLE_SECONDS
        self.tries = 1 if was_stable else self.tries + 1

    def reset(self) -> None:
        """Start a new row after a success."""
        self.tries = 0

    async def before_opening(self) -> None:
        """Wait for the current pause, then note the time of opening."""
        if self._opened_at is not None:
            self.count(self._opened_at)
        await anyio.sleep(self.seconds)
        self._opened_at = anyio.current_time()
