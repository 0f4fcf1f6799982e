"""How the card of an agent is found, and read again only where it has changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from ...settings.sources import AgentSettings
from .card import Card, Elsewhere, NotACard, read_card

if TYPE_CHECKING:
    import httpx2

    from .http import AgentHttp

# Where it is now, and where it was before 0.3.
_WELL_KNOWN = ("/.well-known/agent-card.json", "/.well-known/agent.json")
_NOT_THERE = (404, 405, 410)
_ACCEPT = {"accept": "application/json"}


@dataclass(frozen=True)
class _Read:
    """A card, and what tells whether it is still the same."""

    tag: str
    modified: str
    body: bytes
    card: Card


class CardReader:
    """Reads the card of one agent. What was read last is the answer to `not modified`."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._places = _places(settings.url)
        self._last: _Read | None = None

    async def read(self, http: AgentHttp) -> Card:
        """The card as it is now; the same object where it has not changed.

        Raises:
            SourceError: there is none, or none that can be used.
        """
        if self._settings.protocol == "acp":
            from .acp import read_acp_card  # only who asks for it needs it

            return await read_acp_card(http, self._settings.url)
        for place in self._places:
            response = await http.send("GET", place, self._conditions())
            if response.status_code == 304 and self._last is not None:
                await response.aclose()
                return self._last.card
            body = await http.body(response)
            if response.status_code < 400:
                self._places = (place,)
                return await self._read(http, place, response, body)
            if response.status_code not in _NOT_THERE or place == self._places[-1]:
                raise http.failures.no_card(response.status_code, body)
        raise AssertionError("there is at least one place")

    def _conditions(self) -> dict[str, str]:
        if self._last is None:
            return _ACCEPT
        given = {"if-none-match": self._last.tag, "if-modified-since": self._last.modified}
        return _ACCEPT | {name: x for name, x in given.items() if x}

    async def _read(
        self, http: AgentHttp, place: str, response: httpx2.Response, body: bytes
    ) -> Card:
        if self._last is not None and self._last.body == body:
            return self._last.card
        clean = http.failures.words
        try:
            card = await http.made_of(
                body, lambda found: read_card(found, place, http.may_go_to, clean)
            )
        except NotACard as cause:
            raise http.failures.failed(cause.problem, cause.fix) from cause
        except Elsewhere as cause:
            raise http.failures.not_allowed(cause.url) from None
        headers = response.headers
        self._last = _Read(headers.get("etag", ""), headers.get("last-modified", ""), body, card)
        return card


def _places(url: str) -> tuple[str, ...]:
    """Where the card may be: at the well-known places, or where the URL of a card leads."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    if path.endswith(".json"):
        return (url,)
    made = (urlunsplit((*parts[:2], path + x, parts.query, "")) for x in _WELL_KNOWN)
    return tuple(made)
