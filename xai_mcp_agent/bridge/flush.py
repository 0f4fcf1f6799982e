"""Waits, for a bounded time, until the history has written what it was told."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

from ..history.recording.recorder import HistoryRecorder

# Writing takes milliseconds. A store that cannot keep up is no reason to let a person wait.
_SETTLE_SECONDS = 2.0


class HistoryFlush:
    """Waits until a recorder has written down what it was told. Used on the bridge's loop."""

    def __init__(self, recorder: HistoryRecorder) -> None:
        self._recorder = recorder
        self._late: Future[None] | None = None

    async def wait(self) -> None:
        """Wait for a moment at most, and not at all for a store that was too slow just now.

        Trouble with the store is told by whoever writes there, and no concern of a run.
        """
        is_late = self._late is not None and not self._late.done()
        if is_late or not self._recorder.place.is_lasting:
            return
        asked = self._recorder.settled()
        written = asyncio.wrap_future(asked)
        written.add_done_callback(_take_note)
        # Waits without an end to what it waits for: the next one sees that it is late.
        await asyncio.wait([written], timeout=_SETTLE_SECONDS)
        if not asked.done():
            self._late = asked


def _take_note(written: asyncio.Future[None]) -> None:
    """Have asyncio know that nobody is interested in what went wrong."""
    if not written.cancelled():
        written.exception()
