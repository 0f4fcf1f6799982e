"""To which address a request goes: what was checked is connected to, not the name once more."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import cast

import anyio
import httpcore2
import httpx2

from ...core.places import INTERNET, OutOfPlace, place_of, place_of_host

_allowed: ContextVar[Collection[str] | None] = ContextVar("allowed", default=None)


@contextmanager
def kept_to(places: Collection[str] | None) -> Generator[None]:
    """Connect only to addresses in these places in the block (`DirectTransport`); None: to any."""
    before = _allowed.set(places)
    try:
        yield
    finally:
        _allowed.reset(before)


def check_literal(url: httpx2.URL, places: Collection[str]) -> None:
    """Judge a host that a proxy connects to: an address, not a name, which the proxy looks up.

    Raises:
        OutOfPlace: it is in none of these places.
    """
    place = place_of_host(url.host)
    if place and place not in places:
        raise OutOfPlace(place)


class DirectTransport(httpx2.AsyncHTTPTransport):
    """Connects without a proxy, and within `kept_to`. Each name is looked up once for that."""

    def __init__(self, trusted: ssl.SSLContext, idle_seconds: float) -> None:
        super().__init__(verify=trusted)
        self._pool = httpcore2.AsyncConnectionPool(
            trusted,
            max_connections=None,
            keepalive_expiry=idle_seconds,
            network_backend=_Network(),
        )


class _Network(httpcore2.AsyncNetworkBackend):
    def __init__(self) -> None:
        self._any = cast(httpcore2.AsyncNetworkBackend, httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 -- as the library calls it
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        allowed = _allowed.get()
        if allowed is None:
            return await self._any.connect_tcp(host, port, timeout, local_address, socket_options)
        try:
            found = await _looked_up(host, port)
        except OSError as cause:
            raise httpcore2.ConnectError(str(cause)) from cause
        addresses = [x for x in found if place_of(x) in allowed]
        if not addresses:
            raise OutOfPlace(place_of(found[0]))
        for address in addresses[:-1]:
            with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                return await self._any.connect_tcp(address, port, timeout)
        return await self._any.connect_tcp(addresses[-1], port, timeout)


async def addresses_of(url: httpx2.URL) -> list[str]:
    """The addresses of its host.

    Raises:
        OSError: the name is not known here.
    """
    port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    return await _looked_up(url.raw_host.decode("ascii"), port)


async def _looked_up(host: str, port: int | None) -> list[str]:
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(x[4][0]) for x in found))


def sent_to(address: str, request: httpx2.Request) -> httpx2.Request:
    """The same request, to this address of its host; certificates are checked for the host."""
    url = request.url
    known = {**request.extensions, "sni_hostname": url.raw_host.decode("ascii")}
    return httpx2.Request(
        request.method,
        url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions=known,
    )


def place_of_peer(response: httpx2.Response | None) -> str:
    """Where the other end of its connection is. Looked up again, the name might lead elsewhere."""
    stream = response.extensions.get("network_stream") if response is not None else None
    peer = stream.get_extra_info("server_addr") if stream is not None else None
    return place_of(str(peer[0])) if peer else INTERNET
