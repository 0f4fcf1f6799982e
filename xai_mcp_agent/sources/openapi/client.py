"""Requests to one service and their whole responses, within limits.

Redirects are followed here: a service must not send us into a private network.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import anyio
import httpx2

from ...core.errors import Misdirected, SourceError
from ...core.json import as_object
from ...core.places import INTERNET, LINK_LOCAL, OutOfPlace, place_of_host
from ...secrets.secrets import Mask, mask_and_cut
from ..http import NotFollowed, WebClient, failure_of, place_of_peer, read_until, redirect_request
from ..web.network_errors import proxy_of
from ..web.origins import is_same_host, origin_of

_CLOSE_SECONDS = 1.0
_READING = ("GET", "HEAD")
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

    @property
    def words(self) -> str:
        """The body as one line for a message; the caller masks and cuts it."""
        return " ".join(self.body.decode("utf-8", "replace").split())

    def json(self) -> Any:
        """Return the parsed JSON, or None if it is not JSON. For short bodies."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    def json_object(self) -> Mapping[str, Any]:
        """Return the parsed JSON object; empty if it is not an object."""
        return as_object(self.json())


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
        within_host: bool = False,
        redirects: bool = True,
    ) -> ServiceResponse:
        """Return the response to a request, following the redirects that are allowed.

        `places` limits where the host may be (core/places.py), by default anywhere. `auth` is used
        for the request's origin only. With `within_host`, redirects to another host are not
        allowed. Cancelling the call ends the request. Nothing else limits its time.

        Raises:
            OutOfPlace: the host is in none of `places`. Nothing was sent.
            SourceFailed: the host cannot be reached, or this machine's certificates cannot be read.
            Misdirected: it redirects in a way that is not allowed.
            SourceClosed: the connection was lost before the response was complete.
            ResponseTooLarge: the response is larger than the limit.
        """
        first, first_place = request, ""
        try:
            while True:
                response = await self._send_once(request, places, auth)
                first_place = first_place or _place_of(response)
                if not redirects or not response.has_redirect_location:
                    return await self._read(response, first_place)
                await response.aclose()
                request = redirect_request(response, self._mask, leaves_origin=True)
                if within_host and not is_same_host(str(first.url), str(request.url)):
                    raise NotFollowed(f"it redirects to another host, {request.url.host}")
                if origin_of(str(request.url)) != origin_of(str(first.url)):
                    # Clouds serve the machine's secrets at link-local addresses.
                    places, auth = {INTERNET, first_place} - {LINK_LOCAL}, None
        except NotFollowed as cause:
            raise self._misdirection(str(cause)) from None
        except OutOfPlace:
            if request is first:
                raise
            problem = f"it redirects to {request.url.host}, and may not send us into that network"
            raise self._misdirection(problem) from None
        except (OSError, httpx2.HTTPError, httpx2.InvalidURL, ValueError) as cause:
            raise failure_of(self.name, request, cause, self._mask, self._key) from cause

    async def _send_once(
        self, request: httpx2.Request, places: Collection[str] | None, auth: httpx2.Auth | None
    ) -> httpx2.Response:
        if request.method in _READING:
            try:
                return await self._http.send(request, places, auth)
            except httpx2.RemoteProtocolError:
                pass  # an idle connection was just closed; a read may be sent again
        return await self._http.send(request, places, auth)

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

    def _misdirection(self, problem: str) -> Misdirected:
        text = mask_and_cut(problem, self._mask)
        fix = f"Correct `{self._key}`, if the service has moved."
        return Misdirected(self.name, f"{text}.", fix)


def _place_of(response: httpx2.Response) -> str:
    url = response.request.url
    is_proxied = bool(proxy_of(str(url)))
    return place_of_host(url.host) or (INTERNET if is_proxied else place_of_peer(response))


def _end_of_stream() -> float:
    now = anyio.current_time()
    return now + min(_STREAM_SECONDS, _IN_TIME * (anyio.current_effective_deadline() - now))
