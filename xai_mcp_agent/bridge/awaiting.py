"""Awaiting, on a loop of the caller's, what runs on the bridge's."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import TypeVar

from .portal import closed_meanwhile

T = TypeVar("T")

# In a notebook an interrupt only marks the cell as cancelled: a loop that sleeps sees it when
# something wakes it up.
_BEAT_SECONDS = 1.0


async def outcome_of(future: Future[T]) -> T:
    """What the future gives; cancelling this cancels it.

    Raises:
        RuntimeError: the bridge was closed meanwhile. And what the future raises.
    """
    pulse = _Pulse(asyncio.get_running_loop())
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise  # it is the caller who was cancelled, not the call
        raise closed_meanwhile() from None
    finally:
        pulse.stop()


class _Pulse:
    """Wakes a loop now and then."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._beat()

    def stop(self) -> None:
        self._next.cancel()

    def _beat(self) -> None:
        self._next = self._loop.call_later(_BEAT_SECONDS, self._beat)
