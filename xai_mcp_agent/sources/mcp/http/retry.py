"""Retries of HTTP requests: after 429 and 503, and once over a connection that broke.

429 and 503 mean that the request was not carried out, so it goes again, after the wait the server
asks for. 502, 504 and a broken connection leave that open, so only a request that may go twice
goes again, and only once. Nothing is waited for that the request's own limit would not allow.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import anyio

from .facts import HttpFacts, current_request

if TYPE_CHECKING:
    import httpx2

_NOT_CARRIED_OUT = (429, 503)
# From whoever stands before the server: it may be at work on the request all the same.
_NOBODY_KNOWS = (502, 504)
_MOST_TRIES = 4
# Where the server does not say how long; it doubles each time.
_FIRST_PAUSE_SECONDS = 0.5
# What a call must still have left after a wait, for the answer.
_ROOM_SECONDS = 0.5
# For a request without a limit of its own.
_LONGEST_WAIT_SECONDS = 60.0


class RetryPolicy:
    """How often one request was sent, and whether it goes again. `remark` is for its error."""

    def __init__(self, request: httpx2.Request, facts: HttpFacts) -> None:
        self.remark = ""
        self._request = request
        self._facts = facts
        self._context = current_request()
        self._tries = 1
        self._broke = False

    async def outlasts_the_refusal(self, response: httpx2.Response) -> bool:
        """Whether to send it again after this answer; the wait before that is over by then."""
        status = response.status_code
        if status in _NOBODY_KNOWS:
            return await self._once_more(response)
        if status not in _NOT_CARRIED_OUT or not self._is_waited_for:
            return False
        return await self._after_a_wait(response)

    async def outlasts_the_break(self, cause: httpx2.RequestError) -> bool:
        """Whether to send it again after the connection broke."""
        import httpx2

        # Nobody there is found out again by connecting anew, which has its own pauses.
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError):
            return False
        return await self._once_more(None)

    @property
    def _is_waited_for(self) -> bool:
        """Whether somebody waits for the answer; other messages would hold up those behind them."""
        return self._context is not None or self._request.method == "GET"

    async def _once_more(self, response: httpx2.Response | None) -> bool:
        if self._broke or self._context is None or not self._context.may_go_twice:
            return False
        self._broke = True
        self._facts.on_doubt()
        return await self._goes_again(response, 0.0)

    async def _after_a_wait(self, response: httpx2.Response) -> bool:
        asked = _wait_asked_for(response)
        wait = asked or _FIRST_PAUSE_SECONDS * 2 ** (self._tries - 1)
        if self._tries >= _MOST_TRIES:
            self.remark = f"asked {self._tries} times"
            return False
        if wait > self._seconds_left():
            self.remark = (
                f"it asks to wait {_spoken(wait)}, longer than this may take" if asked else ""
            )
            return False
        return await self._goes_again(response, wait)

    async def _goes_again(self, response: httpx2.Response | None, seconds: float) -> bool:
        await anyio.sleep(seconds)
        # In the handshake era a call may have been given up meanwhile; it must not begin now.
        if self._context is not None and self._facts.is_given_up(self._context.id):
            return False
        self._tries += 1
        if response is not None:
            await response.aclose()
        return True

    def _seconds_left(self) -> float:
        deadline = self._context.deadline if self._context else anyio.current_effective_deadline()
        return min(deadline - anyio.current_time() - _ROOM_SECONDS, _LONGEST_WAIT_SECONDS)


def _wait_asked_for(response: httpx2.Response) -> float:
    """The seconds in `Retry-After`, which may be a number or a date; 0 where it has none."""
    text = response.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text) if len(text) < 10 else math.inf
    try:
        until = _aware(parsedate_to_datetime(text))
    except ValueError:
        return 0.0
    return max((until - _now_there(response)).total_seconds(), 0.0)


def _now_there(response: httpx2.Response) -> datetime:
    """The time by the server's own clock, if it tells, since its date is by that one too."""
    try:
        return _aware(parsedate_to_datetime(response.headers.get("date", "")))
    except ValueError:
        return datetime.now(UTC)


def _aware(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _spoken(seconds: float) -> str:
    """A wait in the unit that a person would use."""
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"about {seconds / size:.0f} {unit}" if seconds < math.inf else "for ever"
    return f"{seconds:.0f} s"
