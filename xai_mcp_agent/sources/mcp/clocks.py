"""Time limits of one connection's requests, which stand still while a person is asked."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from math import inf

import anyio


class Clocks:
    """All limits of one connection. `on_pause` is called when they stop."""

    def __init__(self) -> None:
        self.on_pause: Callable[[], object] = lambda: None
        # Each limit with the time it had left when the clocks stopped.
        self._limits: dict[anyio.CancelScope, float] = {}
        self._pauses = 0

    @property
    def are_paused(self) -> bool:
        """Whether a person is being asked."""
        return self._pauses > 0

    @contextmanager
    def limit(self, seconds: float) -> Generator[anyio.CancelScope]:
        """Limit a block in seconds.

        Raises:
            TimeoutError: the time ran out.
        """
        scope = anyio.CancelScope(deadline=anyio.current_time() + seconds)
        self._limits[scope] = seconds
        if self._pauses:
            scope.deadline = inf
        try:
            with scope:
                yield scope
        finally:
            del self._limits[scope]
        if scope.cancelled_caught:
            raise TimeoutError

    @contextmanager
    def pause(self) -> Generator[None]:
        """Stop all clocks within the block."""
        self._pauses += 1
        if self._pauses == 1:
            for scope in self._limits:
                self._limits[scope] = scope.deadline - anyio.current_time()
                scope.deadline = inf
        self.on_pause()
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                for scope, remaining in self._limits.items():
                    if scope.deadline == inf:  # else another limit was set meanwhile
                        scope.deadline = anyio.current_time() + remaining
