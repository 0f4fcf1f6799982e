"""Circuit breakers: calls of a source that keeps failing are refused for a while.

A refusal costs no timeout and relieves an overloaded service. After the pause one call probes the
source: success closes the breaker, failure doubles the pause. Only failures of the source count,
not mistakes of a caller.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from time import monotonic
from typing import Literal, TypeVar

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

# A repaired source is used again within this time.
_LONGEST_PAUSE_SECONDS = 300.0
# A shorter timeout of the caller says nothing about the source.
_MIN_TIMEOUT_SECONDS = 5.0
_MOST_CHARS = 300  # of the last error: a longer quote would bury the rest


class CircuitBreaker:
    """Circuit breaker of one source. `news` is its last change, for a person."""

    def __init__(self, source: str, settings: BreakerSettings, mask: Callable[[str], str]) -> None:
        self.source, self.settings, self._mask = source, settings, mask
        self.failures, self.last_error = 0, ""  # in a row
        self.until: float | None = None  # when the next try is allowed; None: closed
        self.pause = settings.seconds
        self.is_probing = False  # whether a call is trying the source
        self.shared_at = 0.0  # when a failure shared by all waiting calls was last counted
        self.news = ""

    async def guard(
        self,
        do: Callable[[], Awaitable[T]],
        limit_seconds: float | None = None,
        *,
        is_call: bool = True,
    ) -> T:
        """Use the source, and count a failure.

        `limit_seconds` is the caller's timeout. Only a successful call resets the count.

        Raises:
            CircuitOpen: the source was not used.
        """
        is_probe, began = self.until is not None, monotonic()
        if self.until is not None:
            self._admit(self.until, began)
        try:
            result = await do()
            if isinstance(result, ToolResult) and result.is_outage:
                self._count_failure(began, result.text, is_probe=is_probe)
            elif is_call and self.failures:
                self.reset()
            return result
        except SourceError as error:
            verdict = _verdict(error, limit_seconds) if error.source == self.source else None
            if verdict == "worked":
                self.reset()
            elif verdict is not None:
                is_shared = verdict == "failed for all"
                self._count_failure(began, error.problem, is_probe=is_probe, is_shared=is_shared)
            raise
        finally:
            if is_probe:
                self.is_probing = False  # even if it was cancelled

    def _admit(self, until: float, now: float) -> None:
        """Admit a call as the probe.

        Raises:
            CircuitOpen: another call is probing, or the pause is not over.
        """
        if self.is_probing or now < until:
            words = f"{self._when()} Do without it until then."
            raise CircuitOpen(self.source, self._why(), words, max(until - now, 0.0))
        self.is_probing = True

    def _count_failure(
        self, began: float, problem: str, *, is_probe: bool, is_shared: bool = False
    ) -> None:
        """Count a failure; a failed connection counts once for all calls that wait for it."""
        is_old = self.until is not None and not is_probe  # it began before the breaker opened
        if is_old or (is_shared and began < self.shared_at):
            return
        now = monotonic()
        self.shared_at = now if is_shared else self.shared_at
        self.failures += 1
        self.last_error = self._mask(problem)[:_MOST_CHARS].strip().rstrip(".")
        if self.until is not None:
            self.pause = min(2 * self.pause, max(_LONGEST_PAUSE_SECONDS, self.settings.seconds))
            self.until = now + self.pause
        elif self.failures >= self.settings.failures:
            self.until = now + self.pause
            self._tell(self.state())

    def reset(self) -> bool:
        """Close the breaker; return whether it was open."""
        was_open, self.until = self.until is not None, None
        self.failures, self.pause = 0, self.settings.seconds
        if was_open:
            self._tell("calls go through again.")
        return was_open

    def state(self) -> str:
        """Return why and until when calls are refused, for a person; empty while closed."""
        return "" if self.until is None else f"{self._why()} {self._when()}"

    def _tell(self, text: str) -> None:
        self.news = f"{self.source}: {text}"
        logger.info("%s", self.news)  # callers get an exception

    def _why(self) -> str:
        return f"not called: {self.failures} calls in a row failed. The last: {self.last_error}."

    def _when(self) -> str:
        remaining = (self.until or 0.0) - monotonic()
        if self.is_probing:
            return "One call is trying it now; others are made if it succeeds."
        if remaining <= 0:
            return "The next call tries it."
        moment = datetime.now().astimezone() + timedelta(seconds=remaining)
        return f"It is tried again from {moment:%H:%M:%S} on, in {remaining:.0f} s."


class CircuitBreakers:
    """One circuit breaker per source of the settings. Used on the bridge's loop.

    Tools without a source have none. `mask` hides secrets.
    """

    def __init__(self, sources: Mapping[str, SourceSettings], mask: Callable[[str], str]) -> None:
        self._sources = sources
        self._mask = mask
        self._circuits: dict[str, CircuitBreaker] = {}

    def state(self, source: str) -> str:
        """Return why and until when calls are refused, for a person; empty while closed."""
        circuit = self.of(source)
        return circuit.state() if circuit else ""

    def reset(self, source: str) -> bool:
        """Close the breaker; return whether it was open."""
        circuit = self.of(source)
        return circuit.reset() if circuit else False

    async def guard(
        self,
        source: str,
        do: Callable[[], Awaitable[T]],
        limit_seconds: float | None = None,
        *,
        is_call: bool = True,
    ) -> T:
        """Call the source's `CircuitBreaker.guard`, or just `do` if it has no breaker."""
        circuit = self.of(source)
        if circuit is None:
            return await do()
        return await circuit.guard(do, limit_seconds, is_call=is_call)

    def of(self, source: str) -> CircuitBreaker | None:
        """Return the breaker of a source, with its present settings."""
        entry = self._sources.get(source)
        if entry is None or entry.breaker is None:
            return None
        if source not in self._circuits:
            self._circuits[source] = CircuitBreaker(source, entry.breaker, self._mask)
        circuit = self._circuits[source]
        circuit.settings = entry.breaker
        return circuit


def _verdict(
    error: SourceError, limit: float | None
) -> Literal["worked", "failed", "failed for all"] | None:
    """Return what an error says about its source; None if nothing."""
    match error:
        case Misdirected():
            return "worked"  # it answered; its other operations are not affected
        case SourceFailed() if limit is not None and isinstance(error.__cause__, TimeoutError):
            return None  # it was not ready within the caller's limit
        case SourceFailed() | SourceClosed() if not isinstance(error, CircuitOpen):
            return "failed for all"
        case ToolTimeout(is_of_tool=False) if limit is None or limit >= _MIN_TIMEOUT_SECONDS:
            return "failed"
        case ServerError(status=status):
            return "failed" if is_outage(status) else "worked"  # it answered, with a refusal
        case _:
            return None
