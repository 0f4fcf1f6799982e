"""The HTTP client of one service: a request goes out, its whole answer comes back, within limits.

Redirects are followed here, because credentials belong to one origin and a service has no business
to send us into a private network.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.lowlevel

from ....core.errors import Misdirected, SourceClosed, SourceError, SourceFailed
from ....core.places import INTERNET, LINK_LOCAL, OutOfPlace, place_of_host
from ....secrets.secrets import Mask, masked_and_cut
from ...web.network_errors import by_which_way, proxy_of, reaching_help

if TYPE_CHECKING:
    import httpx2

    from ...http import WebClient

MAX_BYTES = 10 * 1024 * 1024  # a model reads a thousandth of it; programs read pages
_CONNECT_SECONDS = 10.0  # what accepts no connection within this is as good as down
_CLOSE_SECONDS = 1.0
_MOST_REDIRECTS = 5  # a slash at the end, a path that moved: two are many
_HIGHEST_PORT = 65_535
_REDIRECTS = (301, 302, 303, 307, 308)
_READING = ("GET", "HEAD")
_MAX_REFUSAL_BYTES = 256 * 1024  # only the head of an error page is of use to a reader
_STREAM = "text/event-stream"
_STREAM_SECONDS = 30.0  # many have no end; what there is to know comes first
_AT_ONCE = 50  # pieces: thousands may be here, of a byte each, and nobody else would have a turn
_IN_TIME = 0.9  # of what is left of the call
# What goes along to another origin; any other header may be a credential.
_HARMLESS = ("accept", "accept-encoding", "accept-language", "user-agent")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of a service, read to its end, or as far as a limit went (`is_cut`).

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
        """The JSON object that it is; empty where it is none. For short answers."""
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return cast(Mapping[str, Any], found) if isinstance(found, dict) else {}


class TooLarge(SourceError):
    """The answer is larger than the limit. It was not read to its end."""


class ServiceClient:
    """Sends requests to one service. Opened with the first; whoever made it closes it.

    `key` is what of the settings says where it is, for people.
    """

    def __init__(
        self,
        name: str,
        mask: Mask,
        *,
        max_bytes: int = MAX_BYTES,
        key: str = "baseUrl",
    ) -> None:
        self.name = name
        self._key = key
        self._mask = mask
        self._max_bytes = max_bytes
        self._http: WebClient | None = None

    async def close(self) -> None:
        """Close its connections, within a moment also where the other side does not answer."""
        http, self._http = self._http, None
        if http is not None:
            with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                await http.close()

    async def send(self, request: httpx2.Request, places: Collection[str] | None = None) -> Answer:
        """The answer to a request, wherever redirects within the rules lead.

        `places` are those where its host may be (core/places.py), by default all. Cancelling it
        ends the request. Nothing else limits its time.

        Raises:
            OutOfPlace: its host is in none of `places`. Nothing was sent.
            SourceFailed: it cannot be reached, or the certificates of this machine cannot be read.
            Misdirected: it redirects against the rules.
            SourceClosed: the connection was lost before the answer was complete.
            TooLarge: it is larger than the limit.
        """
        began, place = request, ""
        for _ in range(_MOST_REDIRECTS + 1):
            try:
                answer = await self._sent(request, places)
            except OutOfPlace:
                if request is began:
                    raise
                why = "and it may not send us into that network"
                raise self._not_followed(request, why) from None
            place = place or answer.place
            if answer.status not in _REDIRECTS or "location" not in answer.headers:
                return replace(answer, place=place)
            request = self._following(request, answer)
            if _origin(request.url) != _origin(began.url):
                # Machines of clouds tell their secrets at link-local addresses.
                places = {INTERNET, place} - {LINK_LOCAL}
        raise self._not_followed(request, "it redirects again and again")

    async def send_once(self, request: httpx2.Request) -> Answer:
        """The same, and no redirect is followed."""
        return await self._sent(request, None)

    async def _sent(self, request: httpx2.Request, places: Collection[str] | None) -> Answer:
        """One request."""
        import httpx2

        from ...http import WebClient

        self._http = self._http or WebClient()
        try:
            for is_last in (request.method not in _READING, True):
                try:
                    response = await self._http.send(request, places)
                    return await self._read(response, is_direct=not proxy_of(str(request.url)))
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

    async def _read(self, response: httpx2.Response, *, is_direct: bool) -> Answer:
        from ...http import place_of_peer

        headers = {name.lower(): text for name, text in response.headers.items()}
        url = response.request.url.copy_with(userinfo=b"", query=None, fragment=None)
        place = place_of_host(url.host) or (place_of_peer(response) if is_direct else INTERNET)
        answer = Answer(
            response.status_code, response.reason_phrase, headers, b"", str(url), place=place
        )
        is_refusal, is_stream = response.status_code >= 300, answer.media_type == _STREAM
        limit = min(_MAX_REFUSAL_BYTES, self._max_bytes) if is_refusal else self._max_bytes
        pieces: list[bytes] = []
        is_cut = True  # unless it is read to its end
        with anyio.CancelScope(deadline=_end_of_stream() if is_stream else math.inf):
            is_cut = await _read_into(pieces, response, limit)
        if is_cut and not is_refusal and not is_stream:
            raise self._too_large(limit)
        return replace(answer, body=b"".join(pieces), is_cut=is_cut)

    def _following(self, request: httpx2.Request, answer: Answer) -> httpx2.Request:
        """The request that a redirect asks for.

        Raises:
            Misdirected: it is against the rules.
        """
        import httpx2

        try:
            place = request.url.join(answer.headers["location"])
        except httpx2.InvalidURL:
            raise self._not_followed(request, "to no valid address") from None
        following = httpx2.Request(request.method, place)
        if place.scheme not in ("http", "https") or not place.host or not _can_be(place.port):
            raise self._not_followed(following, "which is no address of the web")
        if (request.url.scheme, place.scheme) == ("https", "http"):
            raise self._not_followed(following, "where everything would travel unprotected")
        if place.userinfo:
            raise self._not_followed(following, "with credentials of its own")
        is_same = _origin(place) == _origin(request.url)
        method = "GET" if answer.status == 303 and request.method != "HEAD" else request.method
        if method in _READING:
            return httpx2.Request(method, place, headers=_kept_headers(request, is_same))
        if answer.status in (301, 302):
            raise self._not_followed(following, "in a way that loses what was asked")
        if not is_same:
            raise self._not_followed(following, "and what is sent is not taken to another server")
        return httpx2.Request(
            method, place, headers=_without_host(request), content=request.content
        )

    def _trouble(self, request: httpx2.Request, cause: httpx2.HTTPError) -> SourceError:
        import httpx2

        words = self._shown(str(cause) or type(cause).__name__)
        way = by_which_way(str(request.url))
        if isinstance(cause, httpx2.ConnectTimeout):
            words = f"no connection within {_CONNECT_SECONDS:g} s"
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError):
            problem = f"{self._shown(_where(request.url))} cannot be reached{way}: {words}."
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

    def _too_large(self, limit: int) -> TooLarge:
        return TooLarge(
            self.name, f"its answer is larger than {limit:,} bytes, and was not read to its end.",
            "Ask for less, such as a page or fewer fields, or raise `maxResponseBytes`.",
        )  # fmt: skip

    def _not_followed(self, request: httpx2.Request, why: str) -> Misdirected:
        place = self._shown(str(request.url.copy_with(userinfo=b"", query=None, fragment=None)))
        return Misdirected(
            self.name, f"it redirects to {place}, {why}." if why[:2] != "it" else f"{why}.",
            f"Correct `{self._key}`, if the service has moved.",
        )  # fmt: skip

    def _shown(self, text: str) -> str:
        return masked_and_cut(text, self._mask)


async def _read_into(pieces: list[bytes], response: httpx2.Response, limit: int) -> bool:
    """Read no more bytes than this; whether there are more. The library unpacks in small pieces."""
    async with aclosing(response), aclosing(response.aiter_bytes()) as body:
        async for piece in body:
            if len(pieces) % _AT_ONCE == 0:
                await anyio.lowlevel.checkpoint()
            pieces.append(piece[:limit])
            limit -= len(piece)
            if limit < 0:
                return True
    return False


def _end_of_stream() -> float:
    """When a stream of events is read no further: what came until then is still told in time."""
    now = anyio.current_time()
    return now + min(_STREAM_SECONDS, _IN_TIME * (anyio.current_effective_deadline() - now))


def _can_be(port: int | None) -> bool:
    return port is None or 0 < port <= _HIGHEST_PORT


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _where(url: httpx2.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def _kept_headers(request: httpx2.Request, is_same_origin: bool) -> dict[str, str]:
    """Those for a request without a body."""
    kept = _without_host(request)
    if not is_same_origin:
        return {name: text for name, text in kept.items() if name in _HARMLESS}
    about_the_body = ("content-type", "content-length", "transfer-encoding")
    return {name: text for name, text in kept.items() if name not in about_the_body}


def _without_host(request: httpx2.Request) -> dict[str, str]:
    return {name: text for name, text in request.headers.items() if name != "host"}
