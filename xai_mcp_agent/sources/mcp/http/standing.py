"""Streams opened by a GET: the one on which a server speaks by itself, and those that go on.

The SDK opens them again as often and as fast as a server makes it, or gives up for good after two
failures in a row. Here each is opened with growing pauses, and the standing one again and again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio

from ..pauses import Pauses
from .errand import Errand, current_errand

if TYPE_CHECKING:
    import httpx2

# Somebody waits for what comes on a stream that goes on, so these pauses are short.
_FIRST_RESUMING_SECONDS = 0.05
_LONGEST_RESUMING_SECONDS = 5.0
# The server may be able to open it later; any other refusal means that it has no such stream.
_PASSING = (408, 425, 429, 500, 502, 503, 504)


class StandingStreams:
    """Those of one connection."""

    def __init__(self) -> None:
        self._pauses = Pauses()

    async def open(self, ask: Callable[[], Awaitable[httpx2.Response]]) -> httpx2.Response:
        """Open one by `ask`, after a pause if one was opened not long ago.

        Raises:
            HTTPStatusError: the server has no such stream.
            RequestError: nobody waits any more for what would come on it.
        """
        import httpx2

        if (errand := current_errand()) is not None:
            await _pause_before_resuming(errand)
            return await ask()
        while True:
            await self._pauses.before_opening()
            try:
                return await ask()
            except httpx2.HTTPStatusError as refusal:
                if refusal.response.status_code not in _PASSING:
                    raise
            except httpx2.RequestError:
                continue  # whether the server is gone is found out by asking it something


async def _pause_before_resuming(errand: Errand) -> None:
    import httpx2

    pause = min(_FIRST_RESUMING_SECONDS * 2**errand.resumed, _LONGEST_RESUMING_SECONDS)
    errand.resumed = min(errand.resumed + 1, 10)  # no pause grows any more after that
    await anyio.sleep(pause)
    if anyio.current_time() > errand.deadline:
        # In the handshake era a request outlives the call that made it.
        raise httpx2.ReadTimeout("nobody waits for the answer any more")
