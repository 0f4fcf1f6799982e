"""The HTTP client that asks sign-in services: where a server may send us, and up to a limit.

A server says where one signs in to it, and may name any address. So a service on this machine or
in a private network is asked only if the server itself is there, or the settings name it. What was
checked is connected to: the address that a name led to, not the name once more.

A module to be imported when somebody has to sign in: its libraries are heavy.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from urllib.parse import urlsplit

import anyio
import httpx2

from ....core.places import INTERNET, THIS_MACHINE, place_of, place_of_host
from ....settings.server import ServerSettings
from ...web.addresses import addresses_of, place_of_peer, sent_to
from . import errors

_CONNECT_SECONDS = 10.0
# Sign-in services answer at once; one that does not must not hold up everything.
_ANSWER_SECONDS = 30.0
_MAX_BYTES = 1024 * 1024  # the documents of real services have a few thousand
_MAX_REFUSAL_BYTES = 64 * 1024
_ABOUT_THE_BODY = ("content-encoding", "content-length", "transfer-encoding")


class ServiceClient(httpx2.AsyncClient):
    """For one sign-in to this server, which has `refused` a request, or was not asked yet."""

    def __init__(
        self, server: ServerSettings, refused: httpx2.Response | None, trusted: ssl.SSLContext
    ) -> None:
        super().__init__(
            verify=trusted,
            timeout=httpx2.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS),
            # Connections are to addresses, and not to be used for another name there.
            limits=httpx2.Limits(max_keepalive_connections=0),
        )
        self._server = server
        self._named = {urlsplit(server.auth.issuer).hostname}
        url = httpx2.URL(server.url)
        if self._is_direct(url):
            self._places = {INTERNET, place_of_host(url.host) or place_of_peer(refused)}
        else:
            self._places = {INTERNET}
            self._named.add(url.host)

    async def ask(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, read to its end.

        Raises:
            OutOfReach: the server has no business to send us there.
            AuthFailure: there is no answer, or it is too long.
        """
        where = request.url.netloc.decode()
        try:
            with anyio.fail_after(_ANSWER_SECONDS):
                return await self._whole(request, await self._send(request))
        except TimeoutError:
            reason = f"no whole answer in {_ANSWER_SECONDS:g} s"
        except (httpx2.RequestError, OSError) as cause:
            reason = type(cause).__name__
        raise errors.unreachable(where, reason)

    async def check(self, url: httpx2.URL) -> None:
        """Refuse an address that the server may not send us to.

        A name that is not known here passes: a proxy or a browser may know it.

        Raises:
            OutOfReach: it is one of those.
        """
        with suppress(OSError):
            await self._addresses(url)

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        request.extensions = {**request.extensions, "timeout": self.timeout.as_dict()}
        if not self._is_direct(request.url):
            await self.check(request.url)
            return await self._transport_for_url(request.url).handle_async_request(request)
        refused: httpx2.RequestError | None = None
        for address in await self._addresses(request.url):
            try:
                return await self._transport.handle_async_request(sent_to(address, request))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as cause:
                refused = cause
        raise refused or httpx2.ConnectError("it has no address")

    async def _addresses(self, url: httpx2.URL) -> list[str]:
        """The addresses of its host, without those that the server may not send us to."""
        found = await addresses_of(url)
        if url.host in self._named:
            return found
        allowed = [x for x in found if place_of(x) in self._places]
        if found and not allowed:
            raise errors.OutOfReach(self._server, url.netloc.decode(), place_of(found[0]))
        return allowed

    def _is_direct(self, url: httpx2.URL) -> bool:
        """Whether no proxy stands between; none can reach this machine for us."""
        is_here = place_of_host(url.host) == THIS_MACHINE
        return is_here or self._transport_for_url(url) is self._transport

    async def _whole(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        body = bytearray()
        try:
            async with aclosing(response.aiter_bytes()) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) > _MAX_BYTES:
                        raise errors.too_long(request.url.netloc.decode(), _MAX_BYTES)
        finally:
            await response.aclose()
        kept = [(x, y) for x, y in response.headers.items() if x not in _ABOUT_THE_BODY]
        whole = httpx2.Response(
            response.status_code, headers=kept, content=bytes(body), request=request
        )
        if whole.has_redirect_location:
            with suppress(httpx2.RemoteProtocolError):  # it leads nowhere
                whole.next_request = self._build_redirect_request(request, whole)
        return whole


def cut_short(response: httpx2.Response) -> None:
    """Have no more read of a refusal than its beginning: only its headers matter."""

    class Beginning(httpx2.AsyncByteStream):
        def __init__(self, inner: httpx2.AsyncByteStream) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncGenerator[bytes]:
            left = _MAX_REFUSAL_BYTES
            async for piece in self._inner:
                yield piece[:left]
                left -= len(piece)
                if left <= 0:
                    return

        async def aclose(self) -> None:
            await self._inner.aclose()

    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = Beginning(response.stream)
        response.headers.pop("content-encoding", None)  # few bytes can unpack to very many
