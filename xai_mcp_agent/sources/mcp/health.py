"""Health of one connection: whether it still works, judged by the outcome of its requests."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from time import monotonic
from typing import TypeAlias

import anyio
from anyio.abc import TaskGroup

from ...core.errors import SourceError

logger = logging.getLogger(__name__)

Limit: TypeAlias = Callable[[float], AbstractContextManager[object]]
"""Context that limits a block in seconds, not counting time in which a person is asked."""

# Long enough for a busy server, short enough that a dead one is noticed soon.
PROBE_SECONDS = 5.0
# A probe takes half of it, unless its clock stands still while a person is asked.
_LONGEST_SUSPICION_SECONDS = 2 * PROBE_SECONDS


class Health:
    """Health of one connection.

    It is suspect after a lost request, or two that timed out, until the server has answered a
    probe. It has `ended` with its messages, or when a probe goes unanswered: such a server
    `is_hung`. `last_message_at` is when the server last sent anything.
    """

    def __init__(self, limit: Limit, on_end: Callable[[], None]) -> None:
        self.ended = anyio.Event()
        self.is_suspect = self.is_hung = False
        self.last_message_at = 0.0
        self._limit = limit
        self._on_end = on_end
        self._settled = anyio.Event()
        # When a request first timed out without a message since; None while the server answers.
        self._silent_since: float | None = None
        self._probe: Callable[[], Awaitable[None]] | None = None
        self._tasks: TaskGroup | None = None
        self._is_probing = False

    def serve(self, tasks: TaskGroup, probe: Callable[[], Awaitable[None]]) -> None:
        """Probe the server in doubt from now on; `probe` waits for an answer of the server."""
        self._tasks, self._probe = tasks, probe

    def end(self) -> None:
        """Declare the connection over."""
        if not self.ended.is_set():
            self.ended.set()
            self._on_end()
            self._settle()

    def doubt(self) -> None:
        """Probe the server: a failed request or a broken stream may mean it is gone."""
        if self._tasks is None or self._is_probing or self.ended.is_set():
            return
        self._is_probing = True
        self._tasks.start_soon(self._run_probe)

    def suspect(self) -> None:
        """Probe the server before the next request, which might be lost too."""
        if self._tasks is not None and not self.is_suspect and not self.ended.is_set():
            self.is_suspect, self._settled = True, anyio.Event()
        self.doubt()

    def note_timeout(self, started: float) -> None:
        """Suspect the connection after two timeouts in a row without a message; one may be slow."""
        if self.last_message_at > started:
            self._silent_since = None
        elif self._silent_since is None or self.last_message_at > self._silent_since:
            self._silent_since = monotonic()
        elif started >= self._silent_since:
            self.suspect()

    async def wait_until_settled(self) -> None:
        """Wait for the outcome of the probe if the connection is suspect, up to a limit."""
        if self.is_suspect:
            with anyio.move_on_after(_LONGEST_SUSPICION_SECONDS):
                await self._settled.wait()

    async def _run_probe(self) -> None:
        """Probe twice if need be: the first try may go over a connection that is already dead."""
        assert self._probe is not None
        try:
            with self._limit(PROBE_SECONDS):
                for _ in range(2):
                    try:
                        await self._probe()
                    except SourceError as cause:
                        logger.debug("%s", cause)
                    else:
                        self._is_probing = False
                        self._settle()
                        return
        except TimeoutError:
            self.is_hung = True
        self.end()

    def _settle(self) -> None:
        self.is_suspect = False
        self._settled.set()
