"""Whether the bridge's event loop stood still: measured so that a busy machine does not count."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from xai_mcp_agent import Bridge

_TICK_SECONDS = 0.01
_STAT = Path("/proc/stat")
_STOLEN = 8  # the place in its first line, in hundredths of a second
# Shorter steps are no stalls, whatever was stolen of them.
_SHORT_SECONDS = 0.03


@dataclass
class Stalls:
    """The longest that others had to wait, seen by a task that runs every few milliseconds.

    A step of the loop is what it does before anything else can run on it; it counts by what it
    computed. A hold is what all threads of the process computed while a tick was late: one of them
    may have held the interpreter. Neither the collection of garbage among all that the tests have
    loaded nor what the host of a virtual machine gave to others meanwhile is ours.
    """

    longest_step_seconds: float = 0.0
    longest_hold_seconds: float = 0.0
    _stolen: float = field(default_factory=lambda: _stolen_seconds())

    async def run(self, _engine: object) -> None:
        """Look until cancelled, on the loop that is to be watched."""
        with _collecting() as collected, _timed_steps(self._note_step, collected):
            while True:
                wall, process, self._stolen = (
                    time.monotonic(),
                    time.process_time(),
                    _stolen_seconds(),
                )
                await anyio.sleep(_TICK_SECONDS)
                late = time.monotonic() - wall - _TICK_SECONDS
                hold = min(late, self._ours(time.process_time() - process))
                self.longest_hold_seconds = max(self.longest_hold_seconds, hold)

    def _note_step(self, seconds: float) -> None:
        if seconds > self.longest_step_seconds:
            self.longest_step_seconds = max(self.longest_step_seconds, self._ours(seconds))

    def _ours(self, seconds: float) -> float:
        """Without what was stolen since the last tick."""
        if seconds < _SHORT_SECONDS:
            return seconds
        return max(seconds - (_stolen_seconds() - self._stolen), _SHORT_SECONDS)


@contextmanager
def watching(bridge: Bridge) -> Iterator[Stalls]:
    """How still the loop of this bridge stands in the block."""
    stalls = Stalls()
    looking = bridge.submit(stalls.run)
    try:
        yield stalls
    finally:
        looking.cancel()


@contextmanager
def _timed_steps(note: Callable[[float], None], collected: Callable[[], float]) -> Iterator[None]:
    """Tell how long each step of this thread's loop computes, without collecting garbage."""
    usual, loop = asyncio.Handle._run, threading.get_ident()

    def timed(handle: asyncio.Handle) -> None:
        if threading.get_ident() != loop:
            return usual(handle)
        began, garbage = time.thread_time(), collected()
        usual(handle)
        return note(time.thread_time() - began - (collected() - garbage))

    asyncio.Handle._run = timed  # asyncio tells this only in its debug mode, and of the wall clock
    try:
        yield
    finally:
        asyncio.Handle._run = usual


@contextmanager
def _collecting() -> Iterator[Callable[[], float]]:
    """How many seconds this thread has spent with collecting garbage so far."""
    seconds, began, thread = 0.0, 0.0, threading.get_ident()

    def note(phase: str, _: object) -> None:
        nonlocal seconds, began
        if threading.get_ident() != thread:
            return
        if phase == "start":
            began = time.thread_time()
        else:
            seconds += time.thread_time() - began

    gc.callbacks.append(note)
    try:
        yield lambda: seconds
    finally:
        gc.callbacks.remove(note)


def _stolen_seconds() -> float:
    """What the host gave to others of this machine so far; Linux counts it as computing."""
    if not _STAT.exists():
        return 0.0
    return int(_STAT.read_text(encoding="ascii").split(maxsplit=_STOLEN + 1)[_STOLEN]) / 100
