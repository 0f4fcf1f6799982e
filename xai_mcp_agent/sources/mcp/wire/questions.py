"""Pace of what a server asks: a flood of its questions does not hold up calls and their ends.

The SDK takes each question in a task of its own, and its answers wait for each other among all else
that is sent: behind twenty thousand of them no call leaves, and none is given up. So they
are let in as they are answered, and answers are sent one at a time (`streams.py`).
"""

from __future__ import annotations

from typing import Any

import anyio

# Of one connection. Most are answered in a millisecond; some wait for a person.
_AT_ONCE = 100
_WAIT_SECONDS = 1.0

TOO_MANY = f"more than {_AT_ONCE} requests at the same time"
"""Why a question is refused."""


class QuestionPace:
    """The questions of one connection's server that were not answered yet."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._fewer = anyio.Event()

    async def admits(self, request: Any) -> bool:
        """Whether this one may be asked now; where there are too many, wait for one to be answered.

        Meanwhile nothing is read, so that the server has to wait as well.
        """
        if len(self._open) >= _AT_ONCE:
            self._fewer = anyio.Event()
            with anyio.move_on_after(_WAIT_SECONDS):
                await self._fewer.wait()
        if len(self._open) >= _AT_ONCE:
            return False
        self._open.add(str(request))
        return True

    def is_over(self, request: Any) -> None:
        """It was answered, or the server does not want to know any more."""
        self._open.discard(str(request))
        self._fewer.set()
