"""Time limits of tests: far above the usual time, far below that of a failure."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from math import inf
from typing import TypeVar

T = TypeVar("T")
_ATTEMPTS = 3
_USUAL_SECONDS = 0.06  # of the loop in `slowness`, on the machines that the limits are for


@cache
def slowness() -> float:
    """Return how many times slower this machine is than the one that the limits are for."""
    most = _USUAL_SECONDS
    for _ in range(_ATTEMPTS):
        began = time.thread_time()
        sum(x * x for x in range(1_000_000))
        most = max(most, time.thread_time() - began)
    return most / _USUAL_SECONDS


@contextmanager
def ends_within(seconds: float) -> Generator[None]:
    """Interrupt the block when it still runs after so long, and fail. In the main thread only."""
    main, is_over = threading.main_thread().ident, threading.Event()
    assert main == threading.get_ident()

    def interrupt_main() -> None:
        is_over.set()
        signal.pthread_kill(main, signal.SIGINT)

    timer = threading.Timer(seconds, interrupt_main)
    timer.daemon = True
    timer.start()
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if not is_over.is_set():
            raise
        raise AssertionError(f"not over within {seconds:g} s") from interrupt
    finally:
        timer.cancel()


def compute_within(seconds: float, do: Callable[[], T]) -> T:
    """Return the result of `do`; at least one of three calls must keep the limit.

    It counts the processor time of this thread. Because that includes time that a virtual machine's
    host gave to others, and garbage collection, there are three. A slow machine has more time.
    """
    seconds, least = seconds * slowness(), inf
    for _ in range(_ATTEMPTS):
        began = time.thread_time()
        result = do()
        least = min(least, time.thread_time() - began)
        if least < seconds:
            return result
    raise AssertionError(f"it computed for {least:.3f} s, and may for {seconds:g} s")
