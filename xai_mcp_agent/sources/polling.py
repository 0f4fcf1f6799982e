"""One polling loop, for jobs of services and tasks of agents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import anyio

from ..core.backoff import Backoff

T = TypeVar("T")

_LEAST_SECONDS = 0.05  # `Retry-After: 0` must not cause a request storm
_IN_TIME = 0.9  # of the remaining time: a longer pause could only end without a result


@dataclass(frozen=True, slots=True)
class NotYet:
    """The job is not done yet.

    `seconds` is the pause before the next request, if known. `is_lost`: no answer came.
    """

    seconds: float | None = None
    is_lost: bool = False


async def poll(
    ask: Callable[[int], Awaitable[T | NotYet]], pauses: Backoff, before: NotYet | None = None
) -> T:
    """Ask until there is an answer, first after a pause, and return it.

    `ask` gets the number of consecutive lost answers and decides when to give up. `before` is the
    state before the first request. The caller limits the time.
    """
    state, lost_answers = before or NotYet(), 0
    while True:
        pauses.count()
        seconds = pauses.seconds if state.seconds is None else max(state.seconds, _LEAST_SECONDS)
        remaining = anyio.current_effective_deadline() - anyio.current_time()
        await anyio.sleep(min(seconds, max(_IN_TIME * remaining, _LEAST_SECONDS)))
        answer = await ask(lost_answers)
        if not isinstance(answer, NotYet):
            return answer
        state, lost_answers = answer, lost_answers + 1 if answer.is_lost else 0
