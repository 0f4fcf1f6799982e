"""Whether one connection still works, judged by what comes of its requests."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import monotonic
from typing import Any

import anyio

from ...core.errors import SourceClosed, SourceError
from .transport import Connection

logger = logging.getLogger(__name__)

# Long enough for a busy server, short enough that a dead one is noticed soon.
_PROBE_SECONDS = 5.0
# A stream that a proxy closes now and then is no reason to ask all the time.
_PROBE_PAUSE_SECONDS = 1.0
_LONGEST_PROBE_PAUSE_SECONDS = 60.0


class Health:
    """One connection's. `over` is set once it is of no more use; `on_over` is told then."""

    def __init__(self, link: Connection, on_over: Callable[[], None]) -> None:
        self.over = anyio.Event()
        self._link = link
        self._on_over = on_over
        self._doubted = anyio.Event()
        # Since when nothing came, if a request was in vain; None as long as it answers.
        self._silent_since: float | None = None
        link.http.on_doubt = self.doubt

    @property
    def is_over(self) -> bool:
        """Whether it is of no more use; noticed here where nobody noticed it before."""
        if self._link.watch.ended.is_set():
            self.end()
        return self.over.is_set()

    def end(self) -> None:
        """It is of no more use."""
        if not self.over.is_set():
            self.over.set()
            self._link.watch.ended.set()
            self._on_over()

    async def end_with_the_stream(self) -> None:
        """Wait for the end of its stream, which ends it."""
        await self._link.watch.ended.wait()
        self.end()

    def doubt(self) -> None:
        """A failed request or a broken stream may be an accident, or the end of the server."""
        self._doubted.set()

    async def probe_when_in_doubt(self, ask: Callable[[], Awaitable[Any]]) -> None:
        """After each doubt `ask` the server something; one that does not answer is over."""
        pause = _PROBE_PAUSE_SECONDS
        while True:
            with anyio.move_on_after(_LONGEST_PROBE_PAUSE_SECONDS) as calm:
                await self._doubted.wait()
            if calm.cancelled_caught:
                pause = _PROBE_PAUSE_SECONDS
                continue
            await self._probe(ask)
            await anyio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PROBE_PAUSE_SECONDS)

    async def _probe(self, ask: Callable[[], Awaitable[Any]]) -> None:
        """Ask twice if need be: the first time may go over a connection that is dead already."""
        with suppress(TimeoutError), self._link.pending.limit(_PROBE_SECONDS):
            for _ in range(2):
                self._doubted = anyio.Event()
                try:
                    await ask()
                except SourceClosed as cause:
                    logger.debug("%s", cause)
                except SourceError:
                    return  # it answers
                else:
                    return
        self.end()

    def note_silence(self, started: float) -> None:
        """Two requests in a row without a sign of life end the session; one may just be slow."""
        if self._link.watch.heard_at > started:
            self._silent_since = None
        elif self._silent_since is None or self._link.watch.heard_at > self._silent_since:
            self._silent_since = monotonic()
        elif started >= self._silent_since:
            # It would not notice that its stdin closes either.
            self._link.stdio.in_a_hurry = True
            self.end()
