"""What a function is told of the call it is in, and how it is stopped; used from its thread."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeAlias

Step: TypeAlias = tuple[float, float | None, str]
"""How far a call is: done, total (or None), and words."""


class CallCancelled(BaseException):
    """Nobody waits for this call any more: it was cancelled, or its time is over.

    No `Exception`, so that what is meant for errors does not keep a function from ending.
    """


class RunningCall:
    """One call: how far it is, and whether anybody waits for it still. For use in any thread.

    `wake` is called when there is something to `take`, perhaps in another thread.
    """

    def __init__(self, wake: Callable[[], None] | None = None) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._latest: Step | None = None
        self._stops: list[Callable[[], None]] = []
        self.is_over = False

    def tell(self, step: Step) -> None:
        """Note how far it is; of several that nobody took yet, only the last counts."""
        with self._lock:
            is_waiting, self._latest = self._latest is not None, step
            if self._wake is not None and not (is_waiting or self.is_over):
                self._wake()

    def take(self) -> Step | None:
        """How far it is, if that is new."""
        with self._lock:
            latest, self._latest = self._latest, None
            return latest

    def end(self) -> None:
        """Nobody waits for it any more."""
        with self._lock:
            self.is_over = True
            for stop in self._stops:
                stop()
            self._stops.clear()

    @contextmanager
    def stopped_by(self, stop: Callable[[], None]) -> Generator[None]:
        """Have `stop` called if the call ends meanwhile, in whatever thread ends it."""
        with self._lock:
            self._stops.append(stop)
            if self.is_over:
                stop()
        try:
            yield
        finally:
            with self._lock:  # it is not being called any more, and will not be
                if stop in self._stops:
                    self._stops.remove(stop)


class ToolContext:
    """The call that a function is in. A parameter with this annotation is given it.

    Models do not see that parameter. It may be used in other threads, and after the call has
    ended. One made without anything belongs to no call, for tests.
    """

    def __init__(self, call: RunningCall | None = None) -> None:
        self._call = call or RunningCall()

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody waits any more: the call was cancelled, has ended, or is out of time."""
        return self._call.is_over

    def check(self) -> None:
        """Go on only while somebody waits; to be called now and then by what takes long.

        Raises:
            CallCancelled: nobody does. It is no `Exception`; let it pass.
        """
        if self.is_cancelled:
            raise CallCancelled("nobody waits for this call any more")

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Tell how far the call is: so much of `total`, if that is known.

        It may be called often: what is told faster than it can be shown is left out, up to the
        last. After the call nothing is told.

        Raises:
            ValueError: a number that is none, or infinite.
        """
        numbers = [float(done), *([] if total is None else [float(total)])]
        if not all(map(math.isfinite, numbers)):
            raise ValueError("progress is told in numbers that are finite")
        self._call.tell((numbers[0], numbers[1] if total is not None else None, str(message)))
