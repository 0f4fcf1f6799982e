"""HTTP for everything that is not MCP: one client for agents, services and sign-ins.

It uses this machine's certificates and the environment's proxies, and limits a request to the
places (core/places.py) where its host may be. It connects to the address that was checked, without
resolving the name again.

Imported on first use because its libraries are heavy.
"""

from __future__ import annotations

import math
import os
import socket
import ssl
from collections.abc import Collection, Iterable, Mapping
from contextlib import aclosing, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import cast

import anyio
import anyio.lowlevel
import anyio.to_thread
import httpcore2
import httpx2

from ..core.errors import SourceClosed, SourceError, SourceFailed
from ..core.places import INTERNET, LINK_LOCAL, OutOfPlace, place_of, place_of_host
from ..core.util import trusted_certificates
from ..secrets.secrets import Mask, mask_and_cut
from .web.network_errors import CHECK_FIRST, by_which_way, proxy_of, reaching_help
from .web.origins import is_same_host, origin_of

CONNECT_SECONDS = 10.0
"""A host that accepts no connection within this time counts as down."""

IDLE_SECONDS = 4.0
"""Most servers close a connection after five idle seconds; a request at that moment is lost."""

CONNECT_ERRORS = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError)
"""Errors after which the other side cannot have seen the request."""

PROXY_ERRORS = (ImportError, ValueError, httpx2.InvalidURL)
"""Errors of making a client whose proxy speaks SOCKS or something else than HTTP, or is no URL."""

_TIMEOUT = httpx2.Timeout(None, connect=CONNECT_SECONDS)
_LARGE_PIECE_BYTES = 64 * 1024  # no more arrives at once; a larger piece was decompressed
_PIECES_AT_ONCE = 50  # there may be thousands, of one byte each
_MAX_REDIRECTS = 10  # a trailing slash, a moved path: two are already many
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_DOWNGRADE = ("https", "http")
_SEE_OTHER = 303  # changes the method to GET
_MAX_PORT = 65_535
# Headers that may go to another origin.
_HARMLESS_HEADERS = ("accept", "accept-encoding", "accept-language", "user-agent")
_PLACES = "xai-mcp-agent/places"


class WebClient:
    """HTTP client that connects directly or through the environment's proxy for a URL.

    `headers` go with every request. The caller limits how long a response may take. Cookies are
    sent back to their host only if it `keeps_cookies`.
    """

    def __init__(
        self, headers: Mapping[str, str] | None = None, *, keeps_cookies: bool = False
    ) -> None:
        self._headers = headers
        policy = None if keeps_cookies else DefaultCookiePolicy(allowed_domains=())
        self._cookies = CookieJar(policy)
        # by proxy URL, empty for a direct connection
        self._clients: dict[str, httpx2.AsyncClient] = {}
        self._opening = anyio.Lock()

    async def send(
        self,
        request: httpx2.Request,
        places: Collection[str] | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.Response:
        """Send a request and return its response with an unread body, without following redirects.

        `places` limits where the host may be; None allows anywhere.

        Raises:
            OutOfPlace: the host is elsewhere. Nothing was sent.
            HTTPError: there is no response.
            OSError: the certificates that the environment names cannot be read.
        """
        proxy = proxy_of(str(request.url))
        if proxy and places is not None:
            # The proxy resolves names; only an address can be checked here.
            place = place_of_host(request.url.host)
            if place and place not in places:
                raise OutOfPlace(place)
        client = await self._client(str(request.url), proxy)
        request.extensions = {
            **request.extensions, "timeout": _TIMEOUT.as_dict(), _PLACES: places,
        }  # fmt: skip
        return await client.send(
            request, stream=True, auth=auth or _no_auth, follow_redirects=False
        )

    async def follow(
        self,
        request: httpx2.Request,
        mask: Mask,
        places: Collection[str] | None = None,
        auth: httpx2.Auth | None = None,
        *,
        leaves_host: bool = False,
    ) -> tuple[httpx2.Response, str]:
        """Send a request and follow its redirects, see `redirect_request`.

        Return the response with an unread body, and the place of the first host. `auth` is used for
        the request's origin only. Another origin must be on the internet or in the place of the
        first host.

        Raises:
            OutOfPlace: the host is in none of `places`. Nothing was sent.
            NotFollowed: a redirect is not allowed.
            HTTPError: there is no response.
            OSError: the certificates that the environment names cannot be read.
        """
        first, first_place = request, ""
        for _ in range(_MAX_REDIRECTS):
            try:
                response = await self._send_with_retry(request, places, auth)
            except OutOfPlace as cause:
                if request is first:
                    raise
                problem = f"it redirects to {request.url.host}, which is {cause.place}"
                raise NotFollowed(problem) from None
            first_place = first_place or _place_of_response(response)
            if not response.has_redirect_location:
                return response, first_place
            await response.aclose()
            request = redirect_request(response, mask, leaves_host=leaves_host)
            if origin_of(str(request.url)) != origin_of(str(first.url)):
                # Clouds serve the machine's secrets at link-local addresses.
                places, auth = {INTERNET, first_place} - {LINK_LOCAL}, None
        raise NotFollowed("it redirects again and again")

    async def _send_with_retry(
        self, request: httpx2.Request, places: Collection[str] | None, auth: httpx2.Auth | None
    ) -> httpx2.Response:
        """Send a request; send a read again if an idle connection was closed at that moment."""
        if request.method in _SAFE_METHODS:
            with suppress(httpx2.RemoteProtocolError):
                return await self.send(request, places, auth)
        return await self.send(request, places, auth)

    async def build(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, content: bytes = b""
    ) -> httpx2.Request:
        """Return a request with the headers and cookies of this client."""
        client = await self._client(url, proxy_of(url))
        return client.build_request(method, url, headers=headers, content=content or None)

    async def close(self) -> None:
        """Close the connections."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()

    async def _client(self, url: str, proxy: str) -> httpx2.AsyncClient:
        async with self._opening:
            if proxy not in self._clients:
                certificates = await anyio.to_thread.run_sync(trusted_certificates)
                problem = ""
                try:
                    self._clients[proxy] = self._new_client(proxy, certificates)
                except PROXY_ERRORS as cause:
                    problem = str(cause)
                if problem:  # here without its cause, which says less
                    raise httpx2.ProxyError(problem, request=httpx2.Request("GET", url))
            return self._clients[proxy]

    def _new_client(self, proxy: str, certificates: ssl.SSLContext) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers=self._headers,
            cookies=self._cookies,
            verify=certificates,
            transport=None if proxy else _DirectTransport(certificates),
            proxy=proxy or None,
            timeout=_TIMEOUT,
            limits=httpx2.Limits(keepalive_expiry=IDLE_SECONDS),
            trust_env=False,  # `proxy_of` has already read it
        )


async def read_body(response: httpx2.Response, at_most: int) -> bytes:
    """Read a body, decompressed, and close the response.

    If the body is longer than `at_most`, one byte more than that is returned.

    Raises:
        HTTPError: the connection broke, or the body cannot be decompressed.
    """
    body, _ = await read_until(response, at_most + 1)
    return body


async def read_until(
    response: httpx2.Response, at_most: int, deadline: float = math.inf
) -> tuple[bytes, bool]:
    """Read a body, decompressed, up to a size and a deadline, and close the response.

    The second value says whether that is the whole body.

    Raises:
        HTTPError: the connection broke, or the body cannot be decompressed.
    """
    pieces: list[bytes] = []
    remaining, is_whole = at_most, False
    with anyio.CancelScope(deadline=deadline):
        async with aclosing(response), aclosing(response.aiter_bytes()) as chunks:
            async for piece in chunks:
                pieces.append(piece[:remaining])
                remaining -= len(piece)
                if remaining < 0:
                    break
                if len(piece) > _LARGE_PIECE_BYTES or len(pieces) % _PIECES_AT_ONCE == 0:
                    await anyio.lowlevel.checkpoint()  # let other tasks run
            else:
                is_whole = True
    return b"".join(pieces), is_whole


def failure_of(source: str, cause: Exception, mask: Mask, key: str = "url") -> SourceError:
    """Return the error for a request without a complete response.

    `key` is the setting that has the source's address, for error messages.
    """
    if isinstance(cause, OSError):
        problem = f"the certificates that SSL_CERT_FILE names cannot be read: {cause}."
        return SourceFailed(source, problem, reaching_help("ssl_cert_file"))
    if isinstance(cause, CONNECT_ERRORS):
        url = str(cause.request.url)
        origin = mask_and_cut("://".join(origin_of(url)), mask)
        reason = mask_and_cut(_innermost_reason(cause), mask) or type(cause).__name__
        if isinstance(cause, httpx2.ConnectTimeout):
            reason = f"no connection within {CONNECT_SECONDS:g} s"
        reason += by_which_way(url)
        problem = f"{origin} cannot be reached: {reason}."
        return SourceFailed(source, problem, reaching_help(reason, key))
    reason = mask_and_cut(str(cause), mask) or type(cause).__name__
    if isinstance(cause, httpx2.DecodingError):
        fix = "Ask whoever runs it: the response is compressed wrongly."
        return SourceFailed(source, f"its response cannot be decompressed: {reason}.", fix)
    if not isinstance(cause, httpx2.HTTPError) or isinstance(cause, httpx2.UnsupportedProtocol):
        fix = f"Check `{key}` and the headers."
        return SourceFailed(source, f"the request cannot be sent: {reason}.", fix)
    way = by_which_way(str(cause.request.url))
    problem = f"the connection was lost before the response was complete{way}: {reason}."
    return SourceClosed(source, problem, CHECK_FIRST)


def _innermost_reason(cause: BaseException) -> str:
    """Return the system's reason; the library only says that all connection attempts failed."""
    while inner := cause.__cause__ or cause.__context__:
        cause = inner
    if isinstance(cause, ConnectionError) and cause.errno:
        return os.strerror(cause.errno)  # asyncio only says "Connect call failed"
    return str(cause)


class NotFollowed(ValueError):
    """The redirect is not followed; says why, beginning with `it redirects`."""


def redirect_request(
    response: httpx2.Response, mask: Mask, *, leaves_host: bool = False
) -> httpx2.Request:
    """Return the request that a redirect asks for.

    It keeps its credentials on the same host. With `leaves_host`, a read may go to another host
    without them.

    Raises:
        NotFollowed: it leads to no valid address, or would lose or expose the request's content.
    """
    original, request = response.request, response.next_request
    if request is None:
        raise NotFollowed("it redirects to no valid address")
    url, is_safe = request.url, request.method in _SAFE_METHODS
    stays_on_host = is_same_host(str(original.url), str(url))
    is_address = url.scheme in ("http", "https") and 0 <= (url.port or 0) <= _MAX_PORT
    refusals = {
        "which is not a web address": not (is_address and url.host),
        "which is not encrypted": (original.url.scheme, url.scheme) == _DOWNGRADE,
        "with credentials of its own": url.userinfo not in (b"", original.url.userinfo),
        "in a way that loses the request": request.method != original.method
        and response.status_code != _SEE_OTHER,
        "and nothing is sent to another server": not stays_on_host
        and not (leaves_host and is_safe),
    }
    if reason := next((why for why, is_so in refusals.items() if is_so), ""):
        plain = str(url.copy_with(userinfo=b"", query=None, fragment=None))
        raise NotFollowed(f"it redirects to {mask_and_cut(plain, mask)}, {reason}")
    if not stays_on_host:  # any other header may be a credential
        headers = {
            name: text for name, text in request.headers.items() if name in _HARMLESS_HEADERS
        }
        request.headers = httpx2.Headers({"host": url.netloc.decode("ascii"), **headers})
    elif "cookie" in original.headers:  # the library drops cookies that its own store did not add
        request.headers.setdefault("cookie", original.headers["cookie"])
    if request.method != original.method:
        request.headers.pop("content-type", None)
    return request


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds in `Retry-After` (a number or a date), or None without it.

    Names of headers are in lower case.
    """
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max((until.astimezone(UTC) - datetime.now(UTC)).total_seconds(), 0.0)


async def check_places(url: httpx2.URL, places: Collection[str]) -> None:
    """Resolve a host, and refuse it if it is in none of these places.

    A name that this machine cannot resolve passes: a proxy or a browser may know it.

    Raises:
        OutOfPlace: the host is elsewhere.
    """
    with suppress(OSError):
        await _addresses_within(url.raw_host.decode("ascii"), url.port, places)


def _place_of_response(response: httpx2.Response) -> str:
    url = response.request.url
    is_proxied = bool(proxy_of(str(url)))
    return place_of_host(url.host) or (INTERNET if is_proxied else place_of_peer(response))


def place_of_peer(response: httpx2.Response | None) -> str:
    """Return the place of the connected peer; resolving the name again might lead elsewhere."""
    stream = response.extensions.get("network_stream") if response is not None else None
    peer = stream.get_extra_info("server_addr") if stream is not None else None
    return place_of(str(peer[0])) if peer else INTERNET


_places: ContextVar[Collection[str] | None] = ContextVar("places", default=None)
"""The places that the current request may go to; None allows anywhere."""


class _DirectTransport(httpx2.AsyncHTTPTransport):
    """Transport that connects without a proxy, only within the places of the request."""

    def __init__(self, certificates: ssl.SSLContext) -> None:
        super().__init__(verify=certificates)
        self._pool = httpcore2.AsyncConnectionPool(
            certificates,
            max_connections=None,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=_Network(),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        token = _places.set(request.extensions.get(_PLACES))
        try:
            return await super().handle_async_request(request)
        finally:
            _places.reset(token)


class _Network(httpcore2.AsyncNetworkBackend):
    def __init__(self) -> None:
        self._inner = cast(httpcore2.AsyncNetworkBackend, httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 -- as the library calls it
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to an address of `host` that the places of this request allow.

        The name is looked up once: the connection goes to the address that was judged.
        """
        places = _places.get()
        if places is None:
            return await self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
        try:
            addresses = await _addresses_within(host, port, places)
        except OSError as cause:
            raise httpcore2.ConnectError(str(cause)) from cause
        for address in addresses[:-1]:
            with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                return await self._inner.connect_tcp(address, port, timeout)
        return await self._inner.connect_tcp(addresses[-1], port, timeout)


async def _addresses_within(host: str, port: int | None, places: Collection[str]) -> list[str]:
    entries = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    allowed = [address for address in addresses if place_of(address) in places]
    if not allowed:
        raise OutOfPlace(place_of(addresses[0]))
    return allowed


def _no_auth(request: httpx2.Request) -> httpx2.Request:
    """Replace the library's default auth, which it takes from the URL or from a local file."""
    return request
