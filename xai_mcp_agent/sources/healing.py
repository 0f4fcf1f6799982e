"""Healing of sources: one attempt whose outcome many wait for. Pauses: core/backoff.py."""

from __future__ import annotations

from typing import Generic, TypeVar

import anyio

from ..core.errors import SourceError, SourceFailed

T = TypeVar("T")


class Shared(Generic[T]):
    """The outcome of one attempt, for all who wait for it; `wanted` is set once somebody does."""

    def __init__(self) -> None:
        self.wanted = anyio.Event()
        self._settled = anyio.Event()
        self._outcome: T | SourceError | None = None

    def settle(self, outcome: T | SourceError) -> None:
        """Give the outcome to all who wait; an error is raised for them."""
        self._outcome = outcome
        self._settled.set()

    async def wait(self) -> T:
        """Wait for the outcome.

        Raises:
            SourceError: the attempt failed.
        """
        self.wanted.set()
        await self._settled.wait()
        if isinstance(self._outcome, SourceError):
            raise renewed(self._outcome)
        assert self._outcome is not None
        return self._outcome


def renewed(error: SourceError) -> SourceError:
    """The same error anew, for one more who waits, as a kind that callers know.

    A raised exception collects the tracebacks of its travels.
    """
    kind = SourceFailed if isinstance(error, SourceFailed) else type(error)
    return kind(error.source, error.problem, error.next_step, error.stderr_tail)
