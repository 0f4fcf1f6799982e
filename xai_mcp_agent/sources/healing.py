"""Shared outcome of one attempt, such as to connect. Pauses between attempts: core/backoff.py."""

from __future__ import annotations

from typing import Generic, TypeVar

import anyio

from ..core.errors import SourceError, SourceFailed

T = TypeVar("T")


class Shared(Generic[T]):
    """The outcome of one attempt for all tasks waiting for it; the first sets `has_waiter`."""

    def __init__(self) -> None:
        self.has_waiter = anyio.Event()
        self._settled = anyio.Event()
        self._outcome: T | SourceError | None = None

    def settle(self, outcome: T | SourceError) -> None:
        """Hand the outcome to all waiting tasks; an error is raised there."""
        self._outcome = outcome
        self._settled.set()

    async def wait(self) -> T:
        """Wait for the outcome.

        Raises:
            SourceError: the attempt failed.
        """
        self.has_waiter.set()
        await self._settled.wait()
        if isinstance(self._outcome, SourceError):
            raise copy_error(self._outcome)
        assert self._outcome is not None
        return self._outcome


def copy_error(error: SourceError) -> SourceError:
    """Return a fresh copy of an error for another waiting task, of a type that callers expect.

    A raised exception collects the traceback of every task that raises it.
    """
    kind = SourceFailed if isinstance(error, SourceFailed) else type(error)
    return kind(error.source, error.problem, error.next_step, error.stderr_tail)
