"""Stalls of an event loop: a task on it sleeps for a moment, and measures how late it wakes."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Generator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from typing import Any

from xai_mcp_agent import Bridge
from xai_mcp_agent.bridge.portal import Portal

_STEP_SECONDS = 0.01


class Stalls:
    """The delay of the task, each time."""

    def __init__(self) -> None:
        self.late_seconds = array("d")

    async def watch(self, *_: Any) -> None:
        """Measure until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + _STEP_SECONDS
            await asyncio.sleep(_STEP_SECONDS)
            self.late_seconds.append(max(0.0, loop.time() - due))

    @property
    def longest_seconds(self) -> float:
        """The longest delay."""
        return max(self.late_seconds, default=0.0)


def percentile(seconds: array[float], percent: float) -> float:
    """Return the delay that this percentage does not exceed."""
    values = sorted(seconds) or [0.0]
    return values[min(len(values) - 1, int(len(values) * percent / 100))]


@contextmanager
def watch(bridge: Bridge) -> Generator[tuple[Stalls, Stalls]]:
    """Watch the bridge's loop, and an idle one beside it, which shows the share of the machine."""
    ours, idle = Stalls(), Stalls()
    portal = Portal(_stay)
    tasks: list[Future[Any]] = [bridge.submit(ours.watch), portal.submit(idle.watch)]
    try:
        yield ours, idle
    finally:
        for task in tasks:
            task.cancel()
            with suppress(CancelledError):
                task.result()
        portal.close()


async def _stay(ready: Any, stop: Any) -> None:
    ready()
    await stop.wait()
