"""Requests over one connection: each bounded in time, each failure one of our errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from ...core.errors import SourceError
from .failures import Failures, NotSent, Verdict, is_missing_method, verdict_on
from .health import Health
from .offers.listing import all_pages
from .transport import Connection

if TYPE_CHECKING:
    from mcp import Client

T = TypeVar("T")


class Requests:
    """What is asked over one connection. `client` is set by the session that serves it."""

    def __init__(self, link: Connection, failures: Failures, health: Health) -> None:
        self.client: Client | None = None
        self._link = link
        self._failures = failures
        self._health = health
        self.pending = link.pending

    @property
    def seconds(self) -> float:
        """The limit of one request where nothing else was said."""
        return self._link.settings.call_timeout_seconds

    @property
    def list_seconds(self) -> float:
        """The limit of one listing, with all its pages."""
        return self._link.settings.list_timeout_seconds

    def connected(self) -> Client:
        """The client, for `ask`.

        Raises:
            NotSent: there is no connection any more.
        """
        if self._health.is_over or self.client is None:
            raise self._failures.of_loss(self._link, NotSent)
        return self.client

    async def ask(
        self,
        what: str,
        ask: Callable[[], Awaitable[T]],
        seconds: float,
        notes: list[str] | None = None,
    ) -> T:
        """Await an answer; anything that goes wrong becomes one of our errors.

        The SDK itself, and code that it runs for a server's odd answer, raises
        many types: all of them mean that this one request failed. The time in which the server
        waits for a person is not counted. `notes` gets what there is to say about the answer.

        Raises:
            SourceError: one of its kinds.
            InvalidArguments: what should be sent cannot be JSON.
        """
        started, said_before = monotonic(), self._link.stderr.mark()
        try:
            with self.pending.one(seconds) as waiting:
                if notes is not None:
                    waiting.notes = notes
                return await ask()
        except Exception as cause:
            verdict = verdict_on(cause, self._link)
            await self._draw_conclusions(verdict, started)
            raise self._failures.of_request(
                verdict, cause, self._link, what, seconds, said_before
            ) from cause

    async def listed(self, what: str, ask: Callable[..., Awaitable[Any]], field: str) -> list[Any]:
        """All items of a listing that a server need not have."""
        try:
            pages = await self.ask(what, partial(all_pages, ask, field), self.list_seconds)
        except SourceError as error:
            if is_missing_method(error):
                return []  # some servers have resources but no templates
            raise
        return pages.items

    async def none_in_flight(self, seconds: float) -> None:
        """Wait until every request has its answer, or for so long."""
        await self.pending.none(seconds)

    async def _draw_conclusions(self, verdict: Verdict, started: float) -> None:
        match verdict:
            case "lost" | "unsent":
                self._health.end()
                await self._link.last_words()
            case "broken":
                self._health.doubt()
            case "late":
                self._health.note_silence(started)
            case _:
                pass
