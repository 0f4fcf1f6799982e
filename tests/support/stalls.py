"""Stalls of the bridge's event loop, measured so that a busy machine does not count."""

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

# Others can wait for a tenth of a second. A busy machine takes longer; a real stall takes seconds.
STALL_SECONDS = 0.5
_TICK_SECONDS = 0.01
_STAT = "/proc/stat"
_STOLEN = 8  # position in its first line, in hundredths of a second
_LINE_BYTES = 256  # more than that line has
# Shorter steps are no stalls.
_SHORT_SECONDS = 0.03
_LOOK_SECONDS = 0.002


@dataclass
class Stalls:
    """The longest waits on the loop, measured by a task that runs every few milliseconds.

    A step is one callback of the loop, in processor time. A hold is the processor time of all
    threads while a tick was late: one of them may have held the interpreter. Garbage collection
    (the tests have loaded much) and time that a virtual machine's host gave to others do not count.
    The seconds are those of a usual machine.
    """

    longest_step_seconds: float = 0.0
    longest_hold_seconds: float = 0.0
    _stolen: float = field(default_factory=lambda: _stolen_seconds())

    def __post_init__(self) -> None:
        slowness()  # measured once, and not in a step of the loop

    async def run(self, _engine: object) -> None:
        """Watch the loop that runs this, until cancelled."""
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
        """Return the time without the stolen time since the last tick, on a usual machine."""
        if seconds < _SHORT_SECONDS:
            return seconds
        ours = max(seconds - (_stolen_seconds() - self._stolen), _SHORT_SECONDS)
        return ours / slowness()


@contextmanager
def watching(bridge: Bridge) -> Iterator[Stalls]:
    """Watch the loop of this bridge in the block."""
    stalls = Stalls()
    looking = bridge.submit(stalls.run)
    try:
        yield stalls
    finally:
        looking.cancel()


@contextmanager
def _timed_steps(note: Callable[[float], None], thread: int) -> Iterator[None]:
    """Report the time of each step of this thread's loop, without garbage collection.

    The processor's clock is slow to read: it is read after long steps, and before a step if the
    last reading is old. Short steps are reported in wall time, which is more.
    """
    usual = asyncio.Handle._run
    last_reading = threading.local()

    def run_timed(handle: asyncio.Handle) -> None:
        here = threading.get_ident()
        if thread != here:
            return usual(handle)
        began = time.perf_counter()
        if began - getattr(last_reading, "at", 0.0) > _LOOK_SECONDS:
            last_reading.at, last_reading.spent = began, time.thread_time() - gc_seconds[here]
        usual(handle)
        if (wall := time.perf_counter() - began) < _SHORT_SECONDS:
            return note(wall)
        return note(time.thread_time() - gc_seconds[here] - last_reading.spent)

    with _collecting() as gc_seconds:
        # asyncio reports this only in debug mode, in wall time.
        asyncio.Handle._run = run_timed
        try:
            yield
        finally:
            asyncio.Handle._run = usual


@contextmanager
def _collecting() -> Iterator[Mapping[int, float]]:
    """Yield the seconds of garbage collection so far, by thread."""
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
    """Return the time that the host gave to other machines; Linux counts it as processor time."""
    try:
        file = os.open(_STAT, os.O_RDONLY)  # as it is asked for at every tick
    except OSError:
        return 0.0
    try:
        return int(os.read(file, _LINE_BYTES).split(maxsplit=_STOLEN + 1)[_STOLEN]) / 100
    finally:
        os.close(file)
