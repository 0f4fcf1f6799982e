"""Whether the bridge's event loop stood still: measured so that a busy machine does not count."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from xai_mcp_agent import Bridge

from .watchdog import slowness

# A tenth of a second is what others can wait for. A busy machine takes longer; without the care
# that the tests look for, each of them takes seconds.
STALL_SECONDS = 0.5
_TICK_SECONDS = 0.01
_STAT = "/proc/stat"
_STOLEN = 8  # the place in its first line, in hundredths of a second
_LINE_BYTES = 256  # more than that line has
# Shorter steps are no stalls, whatever was stolen of them.
_SHORT_SECONDS = 0.03
_LOOK_SECONDS = 0.002


@dataclass
class Stalls:
    """The longest that others had to wait, seen by a task that runs every few milliseconds.

    A step of the loop is what it does before anything else can run on it; it counts by what it
    computed. A hold is what all threads of the process computed while a tick was late: one of them
    may have held the interpreter. Neither the collection of garbage among all that the tests have
    loaded nor what the host of a virtual machine gave to others meanwhile is ours. The seconds are
    those of a usual machine.
    """

    longest_step_seconds: float = 0.0
    longest_hold_seconds: float = 0.0
    _stolen: float = field(default_factory=lambda: _stolen_seconds())

    def __post_init__(self) -> None:
        slowness()  # measured once, and not in a step of the loop

    async def run(self, _engine: object) -> None:
        """Look until cancelled, on the loop that is to be watched."""
        with _timed_steps(self._note_step, threading.get_ident()):
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
        """Without what was stolen since the last tick, on a usual machine."""
        if seconds < _SHORT_SECONDS:
            return seconds
        ours = max(seconds - (_stolen_seconds() - self._stolen), _SHORT_SECONDS)
        return ours / slowness()


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
def _timed_steps(note: Callable[[float], None], thread: int) -> Iterator[None]:
    """Tell how long each step of this thread's loop computes, garbage apart.

    The processor's clock is slow to read: it is looked at after steps that took long, and before
    one if the last look was a moment ago. Of others the wall clock's time is told, which is more.
    """
    usual = asyncio.Handle._run
    looked = threading.local()

    def timed(handle: asyncio.Handle) -> None:
        here = threading.get_ident()
        if thread != here:
            return usual(handle)
        began = time.perf_counter()
        if began - getattr(looked, "at", 0.0) > _LOOK_SECONDS:
            looked.at, looked.spent = began, time.thread_time() - collected[here]
        usual(handle)
        if (wall := time.perf_counter() - began) < _SHORT_SECONDS:
            return note(wall)
        return note(time.thread_time() - collected[here] - looked.spent)

    with _collecting() as collected:
        # asyncio tells this only in its debug mode, and of the wall clock.
        asyncio.Handle._run = timed
        try:
            yield
        finally:
            asyncio.Handle._run = usual


@contextmanager
def _collecting() -> Iterator[Mapping[int, float]]:
    """How many seconds each thread has spent with collecting garbage so far."""
    seconds: dict[int, float] = defaultdict(float)

    def note(phase: str, _: object) -> None:
        now = time.thread_time()
        seconds[threading.get_ident()] += now if phase == "stop" else -now

    gc.callbacks.append(note)
    try:
        yield seconds
    finally:
        gc.callbacks.remove(note)


def _stolen_seconds() -> float:
    """What the host gave to others of this machine so far; Linux counts it as computing."""
    try:
        file = os.open(_STAT, os.O_RDONLY)  # as it is asked for at every tick
    except OSError:
        return 0.0
    try:
        return int(os.read(file, _LINE_BYTES).split(maxsplit=_STOLEN + 1)[_STOLEN]) / 100
    finally:
        os.close(file)
