"""Requests to one service and their whole responses, within limits."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import anyio
import httpx2

from ...core.errors import Misdirected, SourceError
from ...core.places import INTERNET
from ...secrets.secrets import Mask, mask_and_cut
from ..http import NotFollowed, WebClient, failure_of, read_until

_CLOSE_SECONDS = 1.0
_MAX_REFUSAL_BYTES = 256 * 1024  # only the beginning of an error page is useful to a reader
_STREAM = "text/event-stream"
_STREAM_SECONDS = 30.0  # many streams never end; the important data comes first
_IN_TIME = 0.9  # of the remaining time, so that the partial result still arrives in time


@dataclass(frozen=True, slots=True)
class ServiceResponse:
    """A response of a service, read to its end or up to a limit (`is_cut`).

    `place` is where the first host is (core/places.py).
    """

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes
    url: str
    is_cut: bool = False
    place: str = INTERNET

    @property
    def media_type(self) -> str:
        """The media type alone, in lower case; empty if there is none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def json(self) -> Any:
        """Return the parsed JSON, or None if it is not JSON. For short bodies."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


class ResponseTooLarge(SourceError):
    """The response is larger than the limit, and was not read to its end."""


class ServiceClient:
    """HTTP client for one service. Its creator closes it.

    `key` is the setting that has the service's address, for error messages.
    """

    def __init__(self, name: str, mask: Mask, *, max_bytes: int, key: str = "baseUrl") -> None:
        self.name = name
        self._key = key
        self._mask = mask
        self._max_bytes = max_bytes
        self._http = WebClient()

    async def close(self) -> None:
        """Close the connections, quickly even if the other side does not answer."""
        with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
            await self._http.close()

    async def send(
        self,
        request: httpx2.Request,
        places: Collection[str] | None = None,
        *,
        auth: httpx2.Auth | None = None,
        leaves_host: bool = True,
        redirects: bool = True,
    ) -> ServiceResponse:
        """Return the response to a request after its redirects; see `WebClient.follow`.

        Without `redirects` a redirect is the response. Cancelling the call ends the request.
        Nothing else limits its time.

        Raises:
            OutOfPlace: the host is in none of `places`. Nothing was sent.
            SourceFailed: the host cannot be reached, or this machine's certificates cannot be read.
            Misdirected: it redirects in a way that is not allowed.
            SourceClosed: the connection was lost before the response was complete.
            ResponseTooLarge: the response is larger than the limit.
        """
        try:
            if not redirects:
                return await self._read(await self._http.send(request, places, auth), INTERNET)
            response, place = await self._http.follow(
                request, self._mask, places, auth, leaves_host=leaves_host
            )
            return await self._read(response, place)
        except NotFollowed as cause:
            problem = f"{mask_and_cut(str(cause), self._mask)}."
            fix = f"Correct `{self._key}`, if the service has moved."
            raise Misdirected(self.name, problem, fix) from None
        except (OSError, httpx2.HTTPError, httpx2.InvalidURL, ValueError) as cause:
            raise failure_of(self.name, cause, self._mask, self._key) from cause

    async def _read(self, response: httpx2.Response, place: str) -> ServiceResponse:
        url = response.request.url.copy_with(userinfo=b"", query=None, fragment=None)
        headers = {name.lower(): text for name, text in response.headers.items()}
        head = ServiceResponse(
            response.status_code, response.reason_phrase, headers, b"", str(url), place=place
        )
        is_refusal, is_stream = head.status >= 300, head.media_type == _STREAM
        limit = min(_MAX_REFUSAL_BYTES, self._max_bytes) if is_refusal else self._max_bytes
        deadline = _end_of_stream() if is_stream else math.inf
        body, is_whole = await read_until(response, limit, deadline)
        if not is_whole and not is_refusal and not is_stream:
            raise ResponseTooLarge(
                self.name,
                f"its response is larger than {limit:,} bytes, and was not read to its end.",
                "Ask for less, such as a page or fewer fields, or raise `maxResponseBytes`.",
            )
        return replace(head, body=body, is_cut=not is_whole)


def _end_of_stream() -> float:
    now = anyio.current_time()
    return now + min(_STREAM_SECONDS, _IN_TIME * (anyio.current_effective_deadline() - now))
