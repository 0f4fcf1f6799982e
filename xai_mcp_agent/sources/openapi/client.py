"""Requests to one service and their whole responses, within limits.

Redirects are followed here, because credentials belong to one origin and a service has no business
to send us into a private network.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

import anyio
import anyio.lowlevel
import httpx2

from ...core.errors import Misdirected, SourceClosed, SourceError, SourceFailed
from ...core.json import as_object
from ...core.places import INTERNET, LINK_LOCAL, OutOfPlace, place_of_host
from ...secrets.secrets import Mask, masked_and_cut
from ..http import CONNECT_SECONDS, NEVER_SENT, WebClient, place_of_peer
from ..web.network_errors import by_which_way, proxy_of, reaching_help
from ..web.origins import is_same_host, origin_of

_CLOSE_SECONDS = 1.0
_MAX_REDIRECTS = 5  # a slash at the end, a path that moved: two are many
_REDIRECTS = (301, 302, 303, 307, 308)
_READING = ("GET", "HEAD")
_MAX_REFUSAL_BYTES = 256 * 1024  # only the head of an error page is of use to a reader
_STREAM = "text/event-stream"
_STREAM_SECONDS = 30.0  # many have no end; what there is to know comes first
_IN_TIME = 0.9  # of what is left of the call: what came until then is still told in time
_PIECES_AT_ONCE = 50  # thousands may be here, of a byte each, and nobody else would have a turn
# What goes along to another origin; any other header may be a credential.
_HARMLESS = ("accept", "accept-encoding", "accept-language", "user-agent")
_OF_THE_BODY = ("content-type", "content-length", "transfer-encoding")


@dataclass(frozen=True, slots=True)
class ServiceResponse:
    """A response of a service, read to its end, or as far as a limit went (`is_cut`).

    `place` is where the host is that was asked first (core/places.py).
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
        """Its type alone, in lower case; empty where it says none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def words(self) -> str:
        """Its body as one line, for a sentence; to be masked and cut."""
        return " ".join(self.body.decode("utf-8", "replace").split())

    def json_object(self) -> Mapping[str, Any]:
        """Return the JSON object that it is; empty where it is none. For short ones."""
        try:
            return as_object(json.loads(self.body))
        except (ValueError, RecursionError):
            return {}


class ResponseTooLarge(SourceError):
    """The response is larger than the limit. It was not read to its end."""


class ServiceClient:
    """Sends requests to one service. Whoever made it closes it.

    `key` is what of the settings says where it is, for people.
    """

    def __init__(self, name: str, mask: Mask, *, max_bytes: int, key: str = "baseUrl") -> None:
        self.name = name
        self._key = key
        self._mask = mask
        self._max_bytes = max_bytes
        self._http = WebClient()

    async def close(self) -> None:
        """Close its connections, within a moment also where the other side does not answer."""
        with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
            await self._http.close()

    async def send(
        self,
        request: httpx2.Request,
        places: Collection[str] | None = None,
        *,
        within_host: bool = False,
    ) -> ServiceResponse:
        """Return the response to a request, wherever redirects within the rules lead.

        `places` are those where its host may be (core/places.py), by default all. `within_host`:
        redirects elsewhere are against the rules. Cancelling it ends the request. Nothing else
        limits its time.

        Raises:
            OutOfPlace: its host is in none of `places`. Nothing was sent.
            SourceFailed: it cannot be reached, or the certificates of this machine cannot be read.
            Misdirected: it redirects against the rules.
            SourceClosed: the connection was lost before the response was complete.
            ResponseTooLarge: it is larger than the limit.
        """
        first, place = request, ""
        for _ in range(_MAX_REDIRECTS + 1):
            try:
                response = await self.send_once(request, places)
            except OutOfPlace:
                if request is first:
                    raise
                raise self._misdirected(request, "it may not send us into that network") from None
            place = place or response.place
            if response.status not in _REDIRECTS or "location" not in response.headers:
                return replace(response, place=place)
            request = self._following(request, response)
            if within_host and not is_same_host(str(first.url), str(request.url)):
                raise self._misdirected(request, "which is another host")
            if _origin(request.url) != _origin(first.url):
                # Machines of clouds tell their secrets at link-local addresses.
                places = {INTERNET, place} - {LINK_LOCAL}
        raise self._misdirected(request, "it redirects again and again")

    async def send_once(
        self, request: httpx2.Request, places: Collection[str] | None = None
    ) -> ServiceResponse:
        """Do the same, and follow no redirect."""
        try:
            for is_last in (request.method not in _READING, True):
                try:
                    return await self._read(await self._http.send(request, places))
                except httpx2.RemoteProtocolError:
                    # It closed an idle connection just then. What only reads may be asked again.
                    if is_last:
                        raise
            raise AssertionError
        except OSError as cause:
            problem = f"the certificates that SSL_CERT_FILE names cannot be read: {cause}"
            raise SourceFailed(self.name, problem, reaching_help("ssl_cert_file")) from cause
        except httpx2.HTTPError as cause:
            raise self._trouble(request, cause) from cause
        except (httpx2.InvalidURL, ValueError) as cause:
            raise SourceFailed(
                self.name, f"the request cannot be sent: {self._shown(str(cause))}.",
                f"Check `{self._key}` and the headers.",
            ) from None  # fmt: skip

    async def _read(self, response: httpx2.Response) -> ServiceResponse:
        url = _without_secrets(response.request.url)
        place = place_of_host(url.host) or (
            INTERNET if proxy_of(str(url)) else place_of_peer(response)
        )
        headers = {name.lower(): text for name, text in response.headers.items()}
        head = ServiceResponse(
            response.status_code, response.reason_phrase, headers, b"", str(url), place=place
        )
        is_refusal, is_stream = head.status >= 300, head.media_type == _STREAM
        limit = min(_MAX_REFUSAL_BYTES, self._max_bytes) if is_refusal else self._max_bytes
        pieces: list[bytes] = []
        is_cut = True  # unless it is read to its end
        with anyio.CancelScope(deadline=_end_of_stream() if is_stream else math.inf):
            is_cut = await _read_into(pieces, response, limit)
        if is_cut and not is_refusal and not is_stream:
            raise ResponseTooLarge(
                self.name,
                f"its answer is larger than {limit:,} bytes, and was not read to its end.",
                "Ask for less, such as a page or fewer fields, or raise `maxResponseBytes`.",
            )
        return replace(head, body=b"".join(pieces), is_cut=is_cut)

    def _following(self, request: httpx2.Request, response: ServiceResponse) -> httpx2.Request:
        """Return the request that a redirect asks for.

        Raises:
            Misdirected: it is against the rules.
        """
        try:
            url = request.url.join(response.headers["location"])
        except httpx2.InvalidURL:
            raise self._misdirected(None, "to no valid address") from None
        following = httpx2.Request(request.method, url)
        is_port = url.port is None or 0 < url.port < 65_536
        if url.scheme not in ("http", "https") or not url.host or not is_port:
            raise self._misdirected(following, "which is no address of the web")
        if (request.url.scheme, url.scheme) == ("https", "http"):
            raise self._misdirected(following, "where everything would travel unprotected")
        if url.userinfo:
            raise self._misdirected(following, "with credentials of its own")
        is_same = _origin(url) == _origin(request.url)
        headers = {name: text for name, text in request.headers.items() if name != "host"}
        method = "GET" if response.status == 303 and request.method != "HEAD" else request.method
        if method in _READING:
            headers = {
                name: text for name, text in headers.items()
                if (name not in _OF_THE_BODY if is_same else name in _HARMLESS)
            }  # fmt: skip
            return httpx2.Request(method, url, headers=headers)
        if response.status in (301, 302):
            raise self._misdirected(following, "in a way that loses what was asked")
        if not is_same:
            raise self._misdirected(following, "and what is sent is not taken to another server")
        return httpx2.Request(method, url, headers=headers, content=request.content)

    def _trouble(self, request: httpx2.Request, cause: httpx2.HTTPError) -> SourceError:
        words = self._shown(str(cause) or type(cause).__name__)
        way = by_which_way(str(request.url))
        if isinstance(cause, httpx2.ConnectTimeout):
            words = f"no connection within {CONNECT_SECONDS:g} s"
        if isinstance(cause, NEVER_SENT):
            where = self._shown(f"{request.url.scheme}://{request.url.netloc.decode('ascii')}")
            problem = f"{where} cannot be reached{way}: {words}."
            return SourceFailed(self.name, problem, reaching_help(str(cause), self._key))
        if isinstance(cause, httpx2.DecodingError):
            return SourceFailed(
                self.name, f"its answer cannot be unpacked: {words}.",
                "Ask who runs the service: it is packed wrongly.",
            )  # fmt: skip
        return SourceClosed(
            self.name, f"the connection was lost before the answer was complete{way}: {words}.",
            "Whether it did what was asked is not known. Try again, if that does no harm.",
        )  # fmt: skip

    def _misdirected(self, following: httpx2.Request | None, why: str) -> Misdirected:
        problem = f"it redirects {why}."
        if following is not None:
            shown = self._shown(str(_without_secrets(following.url)))
            problem = f"it redirects to {shown}, {why}."
        return Misdirected(self.name, problem, f"Correct `{self._key}`, if the service has moved.")

    def _shown(self, text: str) -> str:
        return masked_and_cut(text, self._mask)


async def _read_into(pieces: list[bytes], response: httpx2.Response, limit: int) -> bool:
    """Read no more bytes than this; whether there are more. The library unpacks in small pieces."""
    async with aclosing(response), aclosing(response.aiter_bytes()) as body:
        async for piece in body:
            if len(pieces) % _PIECES_AT_ONCE == 0:
                await anyio.lowlevel.checkpoint()
            pieces.append(piece[:limit])
            limit -= len(piece)
            if limit < 0:
                return True
    return False


def _end_of_stream() -> float:
    now = anyio.current_time()
    return now + min(_STREAM_SECONDS, _IN_TIME * (anyio.current_effective_deadline() - now))


def _origin(url: httpx2.URL) -> tuple[str, str]:
    return origin_of(str(url))


def _without_secrets(url: httpx2.URL) -> httpx2.URL:
    return url.copy_with(userinfo=b"", query=None, fragment=None)
