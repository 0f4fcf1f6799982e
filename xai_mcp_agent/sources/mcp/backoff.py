"""Exponential backoff before a stream is opened again that a server keeps closing."""

from __future__ import annotations

import anyio

_FIRST_SECONDS = 1.0
_LONGEST_SECONDS = 60.0
# A stream that held this long was not closed because the server cannot keep one.
_STABLE_SECONDS = 30.0


class Backoff:
    """Those of one stream. The first one is nothing; one that held lets them begin anew."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._opened_at: float | None = None

    async def before_opening(self) -> None:
        """Wait as long as it is sensible now."""
        if self._opened_at is not None:
            held = anyio.current_time() - self._opened_at > _STABLE_SECONDS
            grown = min(self._seconds * 2, _LONGEST_SECONDS)
            self._seconds = _FIRST_SECONDS if held else max(grown, _FIRST_SECONDS)
        await anyio.sleep(self._seconds)
        self._opened_at = anyio.current_time()
