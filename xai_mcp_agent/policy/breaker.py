"""A circuit breaker for each source: one that fails again and again is left alone for a while.

Its calls are refused at once then, which costs nobody a time-out, and a service that is overloaded
gets time. After the pause one call tries it: success lets all through, failure makes the pause
longer. Only what the source itself does wrong counts, never what a caller asks for.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

import anyio

from ..core.errors import (
    CircuitOpen,
    Misdirected,
    ServerError,
    SourceClosed,
    SourceError,
    SourceFailed,
    ToolTimeout,
)
from ..core.results import ToolResult, is_outage
from ..settings.entry import BreakerSettings, SourceSettings

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Whoever has mended a source need not wait for longer, and a reset is at hand.
_LONGEST_PAUSE_SECONDS = 300.0
# A caller's own limit that is shorter says nothing about the source.
_TELLING_SECONDS = 5.0
_MOST_CHARS = 300  # of the last error: a log would bury the rest


@dataclass(frozen=True, slots=True, eq=False)
class _Attempt:
    """A call that was let through, and when."""

    started: float


class CircuitBreaker:
    """That of one source. Used on the bridge's loop, whose clock counts.

    `changes` counts how often it opened or closed, of which `news` tells the last time.
    """

    def __init__(self, source: str, settings: BreakerSettings, mask: Callable[[str], str]) -> None:
        self.changes, self.news = 0, ""
        self._source = source
        self.settings = settings
        self._mask = mask
        self._failures = 0  # in a row
        self._last_error = ""
        self._until: float | None = None  # when the next try may be; None: closed
        self._pause = settings.seconds
        self._probe: _Attempt | None = None
        self._shared_at = 0.0  # when a failure that hit all who waited was counted last

    @property
    def is_open(self) -> bool:
        """Whether calls are refused, or only one is let through to try it."""
        return self._until is not None

    async def guard(
        self,
        do: Callable[[], Awaitable[T]],
        limit_seconds: float | None = None,
        *,
        is_call: bool = True,
    ) -> T:
        """Do something with the source, and count what came of it.

        `limit_seconds` is the caller's own limit. What is no call is only counted where it fails.

        Raises:
            CircuitOpen: it was not done.
        """
        attempt = _Attempt(anyio.current_time())
        if self._until is not None:
            if self._probe is not None or attempt.started < self._until:
                raise self._refusal(self._until - attempt.started)
            self._probe = attempt
        try:
            made = await do()
            if isinstance(made, ToolResult) and made.is_outage:
                self._failed(attempt, made.text, is_shared=False)
            elif is_call and self._failures:
                self._worked()
            return made
        except SourceError as error:
            if error.source == self._source:
                self._judge(attempt, error, limit_seconds)
            raise
        finally:
            if self._probe is attempt:
                self._probe = None  # whatever became of it: it may have been cancelled

    def reset(self) -> bool:
        """Let calls through again, as if nothing had failed; whether they were refused."""
        was_open, self._until = self.is_open, None
        self._failures, self._pause = 0, self.settings.seconds
        if was_open:
            self._tell("calls go through again.")
        return was_open

    def go_by(self, settings: BreakerSettings) -> None:
        """Take these settings from now on; where they are others, as if nothing had failed."""
        if settings != self.settings:
            self.settings = settings
            self.reset()

    def state(self) -> str:
        """Why calls are refused and until when, for a person; empty while they are not."""
        return f"{self._why()} {self._when()}" if self.is_open else ""

    def _judge(self, attempt: _Attempt, error: SourceError, limit: float | None) -> None:
        match error:
            case CircuitOpen():
                pass
            case Misdirected():
                self._worked()  # it has answered; other operations of it are no worse for that
            case SourceFailed() if limit is not None and isinstance(error.__cause__, TimeoutError):
                pass  # it was not ready as soon as the caller wanted
            case SourceFailed() | SourceClosed():
                self._failed(attempt, error.problem, is_shared=True)
            case ToolTimeout(is_of_tool=True):
                pass
            case ToolTimeout() if limit is None or limit >= _TELLING_SECONDS:
                self._failed(attempt, error.problem, is_shared=False)
            case ServerError(status=status) if is_outage(status):
                self._failed(attempt, error.problem, is_shared=False)
            case ServerError():
                self._worked()  # it has answered: no
            case _:
                pass

    def _failed(self, attempt: _Attempt, problem: str, *, is_shared: bool) -> None:
        """Count it, unless it is told twice: a start or a connection fails once for all callers."""
        if self._until is not None and attempt is not self._probe:
            return  # let through before it opened
        if is_shared and attempt.started < self._shared_at:
            return
        now = anyio.current_time()
        self._shared_at = now if is_shared else self._shared_at
        self._failures += 1
        self._last_error = self._mask(problem)[:_MOST_CHARS].strip().rstrip(".")
        if self._until is not None:
            self._pause = min(2 * self._pause, max(_LONGEST_PAUSE_SECONDS, self.settings.seconds))
            self._until = now + self._pause
        elif self._failures >= self.settings.failures:
            self._until = now + self._pause
            self._tell(f"{self._why()} {self._when()}")

    def _worked(self) -> None:
        if self._failures or self._until is not None:
            self.reset()

    def _tell(self, text: str) -> None:
        self.changes, self.news = self.changes + 1, f"{self._source}: {text}"
        logger.info("%s", self.news)  # whoever calls it is told by an exception

    def _refusal(self, seconds: float) -> CircuitOpen:
        do_without = f"{self._when()} Do without it until then."
        return CircuitOpen(self._source, self._why(), do_without, max(seconds, 0.0))

    def _why(self) -> str:
        return f"not called: {self._failures} calls in a row failed. The last: {self._last_error}."

    def _when(self) -> str:
        left = (self._until or 0.0) - anyio.current_time()
        if self._probe is not None:
            return "One call is trying it right now; the others go through when that succeeds."
        if left <= 0:
            return "The next call tries it."
        moment = datetime.now().astimezone() + timedelta(seconds=left)
        return f"It is tried again from {moment:%H:%M:%S} on, in {left:.0f} s."


class CircuitBreakers:
    """Those of the sources of the settings, of which there may be more or others as time goes on.

    Kinds without a source of their own have none.
    """

    def __init__(self, sources: Mapping[str, SourceSettings], mask: Callable[[str], str]) -> None:
        self._sources = sources
        self._mask = mask
        self._breakers: dict[str, CircuitBreaker] = {}

    def of(self, source: str) -> CircuitBreaker | None:
        """That of a source; None where the settings want none."""
        known, entry = self._breakers.get(source), self._sources.get(source)
        if entry is None or entry.breaker is None:
            return None
        if known is None:
            known = self._breakers[source] = CircuitBreaker(source, entry.breaker, self._mask)
        if known.settings is not entry.breaker:
            known.go_by(entry.breaker)  # another source may have taken its place
        return known

    def state(self, source: str) -> str:
        """See `CircuitBreaker.state`."""
        breaker = self.of(source)
        return breaker.state() if breaker else ""

    def reset(self, source: str) -> bool:
        """See `CircuitBreaker.reset`."""
        breaker = self._breakers.get(source)
        return breaker.reset() if breaker else False

    async def guard(
        self,
        source: str,
        do: Callable[[], Awaitable[T]],
        limit_seconds: float | None = None,
        *,
        is_call: bool = True,
    ) -> T:
        """See `CircuitBreaker.guard`."""
        breaker = self.of(source)
        if breaker is None:
            return await do()
        return await breaker.guard(do, limit_seconds, is_call=is_call)


class BreakerNews:
    """What one reader has not read yet: of breakers that were open before, too."""

    def __init__(self, breakers: CircuitBreakers) -> None:
        self._breakers = breakers
        self._read: dict[str, int] = {}

    def of(self, source: str) -> str:
        """What became of the breaker of a source since this was asked last; empty: nothing."""
        breaker = self._breakers.of(source)
        if breaker is None or breaker.changes == self._read.get(source, 0):
            return ""
        is_first = source not in self._read
        self._read[source] = breaker.changes
        return breaker.news if breaker.is_open or not is_first else ""
