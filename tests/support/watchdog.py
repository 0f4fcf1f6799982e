"""A bound for what should not wait: far above what it takes, far below what it would wait for."""

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
_USUAL_SECONDS = 0.06  # what `slowness` measures takes on the machines that the limits are for


@cache
def slowness() -> float:
    """How many times longer this machine computes than the one that limits are meant for."""
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

    def bark() -> None:
        is_over.set()
        signal.pthread_kill(main, signal.SIGINT)

    dog = threading.Timer(seconds, bark)
    dog.daemon = True
    dog.start()
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if not is_over.is_set():
            raise
        raise AssertionError(f"not over within {seconds:g} s") from interrupt
    finally:
        dog.cancel()


def done_within(seconds: float, do: Callable[[], T]) -> T:
    """What comes of `do`, which must compute less than that once in three times.

    The time is the processor's for this thread, which counts what the host of a virtual machine
    gave to others, and collected garbage. A slow machine may take longer.
    """
    seconds, least = seconds * slowness(), inf
    for _ in range(_ATTEMPTS):
        began = time.thread_time()
        result = do()
        least = min(least, time.thread_time() - began)
        if least < seconds:
            return result
    raise AssertionError(f"it computed for {least:.3f} s, and may for {seconds:g} s")
