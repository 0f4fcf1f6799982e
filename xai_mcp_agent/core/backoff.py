"""Pauses between attempts, each longer than the one before."""

from __future__ import annotations

import anyio

STABLE_SECONDS = 30.0
"""What was open this long did not fail because it cannot be opened."""

_MOST_STEPS = 60  # what fails for a day is tried a thousand times, and 2.0**1024 is no number


class Backoff:
    """Pauses before something is opened again, each `growth` times as long as the one before.

    `tries` counts in a row; one that held for `STABLE_SECONDS`, once it was open, begins a new row.
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
        """The pause before the next try; none before the first."""
        if not self.tries:
            return 0.0
        return min(self._first * self._growth ** min(self.tries - 1, _MOST_STEPS), self._longest)

    def count(self, opened_at: float | None = None) -> None:
        """Count a try that is over; `opened_at` is when it was open, if it ever was."""
        held = opened_at is not None and anyio.current_time() - opened_at > STABLE_SECONDS
        self.tries = 1 if held else self.tries + 1

    def reset(self) -> None:
        """Begin a new row: it works."""
        self.tries = 0

    async def before_opening(self) -> None:
        """Wait as long as it is sensible now, for something that is open from then on."""
        if self._opened_at is not None:
            self.count(self._opened_at)
        await anyio.sleep(self.seconds)
        self._opened_at = anyio.current_time()
