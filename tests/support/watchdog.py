"""A bound for what should not wait: far above what it takes, far below what it would wait for."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager


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
