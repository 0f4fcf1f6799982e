"""To which address a request goes: what was checked is connected to, not the name once more."""

from __future__ import annotations

import socket

import anyio
import httpx2

from ...core.places import INTERNET, place_of, place_of_host


async def addresses_of(url: httpx2.URL) -> list[str]:
    """The addresses of its host.

    Raises:
        OSError: the name is not known here.
    """
    port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    host = url.raw_host.decode("ascii")
    told = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(x[4][0]) for x in told))


async def places_of(url: httpx2.URL) -> set[str]:
    """Where its host is, looked up only where its name does not tell.

    Raises:
        OSError: the name is not known here.
    """
    place = place_of_host(url.host)
    return {place} if place else {place_of(x) for x in await addresses_of(url)}


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
