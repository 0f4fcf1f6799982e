"""Health of one connection: whether it still works, judged by the outcome of its requests."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from time import monotonic
from typing import TypeAlias

import anyio

from ...core.backoff import Backoff
from ...core.errors import SourceError
from .connection import Connection
from .failures import Verdict

logger = logging.getLogger(__name__)

Limit: TypeAlias = Callable[[float], AbstractContextManager[object]]
"""Context that limits a block in seconds, not counting time in which a person is asked."""

# Long enough for a busy server, short enough that a dead one is noticed soon.
PROBE_SECONDS = 5.0
# A probe takes half of it, unless its clock stands still while a person is asked.
_LONGEST_SUSPICION_SECONDS = 2 * PROBE_SECONDS


class Health:
    """Health of one connection, judged by the outcome of its requests.

    It is suspect after a lost request, or two that timed out, until the server has answered a
    probe. It ends with its messages, or when a probe goes unanswered.
    """

    def __init__(self, connection: Connection, limit: Limit) -> None:
        self.is_suspect = False
        """Whether it is unclear if the server is still there."""
        self._connection = connection
        self._limit = limit
        self._doubted, self._is_awaited, self._settled = (anyio.Event() for _ in range(3))
        # When a request first timed out without a message since; None while the server answers.
        self._silent_since: float | None = None
        connection.on_doubt, connection.on_end = self.doubt, self.end

    def end(self) -> None:
        """Declare the connection over."""
        if not self._connection.ended.is_set():
            self._connection.ended.set()
            self._connection.on_over()
            self._settle()

    def doubt(self) -> None:
        """Request a probe: a failed request or a broken stream may mean the server is gone."""
        self._doubted.set()

    def suspect(self) -> None:
        """Request a probe before the next request, which might be lost too."""
        self.doubt()
        if not self.is_suspect and not self._connection.ended.is_set():
            self.is_suspect, self._settled = True, anyio.Event()

    async def wait_until_settled(self) -> None:
        """If the connection is suspect, probe it at once and await the outcome, up to a limit."""
        if self.is_suspect:
            self._is_awaited.set()
            with anyio.move_on_after(_LONGEST_SUSPICION_SECONDS):
                await self._settled.wait()

    def _settle(self) -> None:
        self.is_suspect = False
        self._settled.set()

    async def judge(self, verdict: Verdict, started: float) -> None:
        """Update the health after a failed request that was sent at `started`."""
        if verdict in ("lost", "unsent"):
            self.end()
            await self._connection.last_words()
        elif verdict == "broken":
            self.suspect()
        elif verdict == "late":
            self._note_silence(started)

    def _note_silence(self, started: float) -> None:
        """Suspect the connection after two timeouts in a row without a message; one may be slow."""
        heard_at = self._connection.heard_at
        if heard_at > started:
            self._silent_since = None
        elif self._silent_since is None or heard_at > self._silent_since:
            self._silent_since = monotonic()
        elif started >= self._silent_since:
            self.suspect()

    async def probe_when_in_doubt(self, ask: Callable[[], Awaitable[None]]) -> None:
        """After each doubt `ask` the server something; without an answer in time, it is over.

        Probes are spaced out, because a proxy may close a stream now and then.
        """
        pauses, last = Backoff(), None
        while True:
            await self._doubted.wait()
            if last is not None:
                pauses.count(last)
            with anyio.move_on_after(pauses.seconds):
                await self._is_awaited.wait()
            last = anyio.current_time()
            await self._probe(ask)
            if not self._doubted.is_set():  # no new doubt meanwhile
                self._settle()
                self._is_awaited = anyio.Event()

    async def _probe(self, ask: Callable[[], Awaitable[None]]) -> None:
        """Ask twice if need be: the first try may go over a connection that is already dead."""
        try:
            with self._limit(PROBE_SECONDS):
                for _ in range(2):
                    self._doubted = anyio.Event()
                    try:
                        await ask()
                    except SourceError as cause:
                        logger.debug("%s", cause)
                    else:
                        return
        except TimeoutError:
            # Such a server would not notice a closed stdin either.
            self._connection.in_a_hurry = True
        self.end()
