"""Retry policy for transient failures, and the limit of a turn, for every service.

It replaces the client libraries' own retries, which sleep through our limit and then hide the
reason for the wait.
"""

from __future__ import annotations

import random

import anyio
from anyio import sleep

from ...core.backoff import Backoff
from ...core.errors import ModelCannotCallFunctions, ModelContextOverflow
from ..media import kinds_in
from .base import AskedAgain, ModelReply, ModelRequest, ModelSettings, OnAgain, OnText
from .errors import AttemptFailure, ModelService, turn_error
from .quirks import ServiceQuirks

_RETRIES = 2
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0  # for pauses of our choice
_MAX_TEMPERATURE = 2.0
# The services' default; `extra_temperature` counts from here.
_USUAL_TEMPERATURE = 1.0


class RetryingModel:
    """A model with failed attempts as values; a subclass makes one attempt."""

    def __init__(self, settings: ModelSettings, quirks: ServiceQuirks) -> None:
        self._settings = settings
        self._quirks = quirks

    @property
    def name(self) -> str:
        """Return the provider and the model, for people."""
        return f"{self._service.provider} {self._service.model}"

    @property
    def calls_functions(self) -> bool:
        """Return whether the model calls functions; True until the service denies it."""
        return self._quirks.calls_functions

    @property
    def window_tokens(self) -> int:
        """Return the context size that the service stated for an overlong request, else 0."""
        return self._quirks.window_tokens

    async def reply(
        self, request: ModelRequest, on_text: OnText, on_again: OnAgain | None = None
    ) -> ModelReply:
        """Ask for the next message; its text goes to `on_text` as it comes.

        A reply that breaks off is void: it calls `on_again` and repeats the request.

        Raises:
            ModelCannotCallFunctions: functions were offered to a model that cannot call them.
            ModelError: another subclass of it, with the next step.
        """
        limit = self._settings.turn_limit_seconds
        with anyio.move_on_after(limit) as scope:
            try:
                return await self._ask(request, on_text, on_again, scope.deadline)
            except ModelCannotCallFunctions:
                self._quirks.calls_functions = False
                raise
            except ModelContextOverflow as error:
                self._quirks.window_tokens = error.window_tokens or self._quirks.window_tokens
                raise
        raise turn_error(limit, self._service)

    async def _ask(
        self, request: ModelRequest, on_text: OnText, on_again: OnAgain | None, deadline: float
    ) -> ModelReply:
        backoff = Backoff(_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
        failures, media = 0, kinds_in(request.messages)
        while True:
            result = await self._attempt(request, on_text)
            if isinstance(result, ModelReply):
                return result
            pause = 0.0
            if not self._quirks.learn_media(result.words, result.status, media):
                failures += result.retry == "soon"
                pause = _pause_after(result, backoff)
                # A service with too many requests answers once others have had their turn.
                is_final = result.retry == "never" or failures > _RETRIES
                if is_final or anyio.current_time() + pause >= deadline:
                    try:
                        raise result.error
                    finally:
                        # the error holds this frame; a reference back would keep both alive
                        del result
            if on_again:
                await on_again(AskedAgain(result.reason, pause))
            await sleep(pause)

    def _temperature(self, request: ModelRequest) -> float | None:
        """Return the temperature to send; None for the service's default."""
        temperature, extra = self._settings.temperature, request.extra_temperature
        if temperature is None and extra <= 0:
            return None
        base = _USUAL_TEMPERATURE if temperature is None else temperature
        return min(max(base + extra, 0.0), _MAX_TEMPERATURE)

    @property
    def _service(self) -> ModelService:
        raise NotImplementedError

    async def _attempt(self, request: ModelRequest, on_text: OnText) -> ModelReply | AttemptFailure:
        raise NotImplementedError


def _pause_after(failure: AttemptFailure, backoff: Backoff) -> float:
    backoff.count()
    requested = failure.wait_seconds
    if requested and backoff.tries <= _RETRIES:
        return requested
    # A service that always says "at once" would get hundreds of requests.
    return max(requested or 0.0, backoff.seconds * random.uniform(0.75, 1.0))
