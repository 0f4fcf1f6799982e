"""How often a request is sent again when its service fails in a way that passes, and when.

In place of the client library's own retries: those sleep through our limit and then hide why
they waited.
"""

from __future__ import annotations

import random

import anyio

from ...core.backoff import Backoff
from .openai_failures import Failure

_RETRIES = 2
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0  # of those that we choose


class Attempts:
    """The attempts of one turn of the model, which ends at `deadline`."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._failed = 0
        self._backoff = Backoff(_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)

    def pause_seconds(self, failure: Failure) -> float | None:
        """How long to wait before asking once more; None when it would not help.

        Failures are counted. A service with too many requests is waited for as long as the turn
        may take: it answers when others have had their turn.
        """
        if failure.again == "never" or (failure.again == "soon" and self._failed >= _RETRIES):
            return None
        if failure.again == "soon":
            self._failed += 1
        self._backoff.count()
        pause = self._pause(failure)
        return pause if anyio.current_time() + pause < self._deadline else None

    def _pause(self, failure: Failure) -> float:
        asked = failure.wait_seconds
        if asked and self._backoff.tries <= _RETRIES:
            return asked
        # One that says "at once" again and again would be asked hundreds of times.
        return max(asked or 0.0, self._backoff.seconds * random.uniform(0.75, 1.0))
