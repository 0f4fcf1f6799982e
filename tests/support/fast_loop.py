"""An event loop whose clock runs faster, for tests of limits and pauses of minutes."""

from __future__ import annotations

import asyncio
import selectors

SPEED = 200


class _FastSelector(selectors.DefaultSelector):
    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, selectors._EventMask]]:
        return super().select(None if timeout is None else timeout / SPEED)


class FastLoop(asyncio.SelectorEventLoop):
    """Half a minute of its time is 0.15 s."""

    def __init__(self) -> None:
        super().__init__(_FastSelector())

    def time(self) -> float:
        """Return the time in seconds of this loop."""
        return super().time() * SPEED
