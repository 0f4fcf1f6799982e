"""Requests to sign-in services: where a server may send us, and up to a limit.

A server says where one signs in to it, and may name any address. So a service on this machine or in
a private network is asked only if the server itself is there, or the settings name it.

Imported when somebody has to sign in: its libraries are heavy.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

import anyio
import httpx2

from ....core.places import INTERNET, OutOfPlace, place_of_host
from ....settings.server import ServerSettings
from ...http import WebClient, check_places, place_of_peer, read_body
from ...web.network_errors import proxy_of
from . import errors

# Sign-in services answer at once; one that does not must not hold up everything.
_ANSWER_SECONDS = 30.0
_MAX_BYTES = 1024 * 1024  # the documents of real services have a few thousand
_ABOUT_THE_BODY = ("content-encoding", "content-length", "transfer-encoding")


class SignInServices:
    """For one sign-in to this server, which has `refused` a request, or was not asked yet."""

    def __init__(self, server: ServerSettings, refused: httpx2.Response | None) -> None:
        self._server = server
        self._client = WebClient(read_seconds=_ANSWER_SECONDS)
        self._named = {urlsplit(server.auth.issuer).hostname}
        host = urlsplit(server.url).hostname or ""
        if proxy_of(server.url):
            # Where the server is itself is not known then.
            self._places = {INTERNET}
            self._named.add(host)
        else:
            self._places = {INTERNET, place_of_host(host) or place_of_peer(refused)}

    async def ask(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response, read to its end.

        Raises:
            OutOfReach: the server has no business to send us there.
            AuthFailure: there is no response, or it is too long.
        """
        where = request.url.netloc.decode()
        try:
            with anyio.fail_after(_ANSWER_SECONDS):
                response = await self._client.send(request, self._places_for(request.url))
                body = await read_body(response, _MAX_BYTES)
        except OutOfPlace as cause:
            raise errors.OutOfReach(self._server, where, cause.place) from None
        except TimeoutError:
            reason = f"no whole answer in {_ANSWER_SECONDS:g} s"
            raise errors.unreachable(where, reason) from None
        except (httpx2.RequestError, OSError) as cause:
            raise errors.unreachable(where, type(cause).__name__) from None
        if len(body) > _MAX_BYTES:
            raise errors.too_long(where, _MAX_BYTES)
        headers = [x for x in response.headers.items() if x[0] not in _ABOUT_THE_BODY]
        whole = httpx2.Response(
            response.status_code, headers=headers, content=body, request=request
        )
        whole.next_request = response.next_request
        return whole

    async def check(self, url: httpx2.URL) -> None:
        """Refuse an address that a person's browser would be sent to.

        Raises:
            OutOfReach: the server has no business to send anybody there.
        """
        places = self._places_for(url)
        try:
            if places is not None:
                await check_places(url, places)
        except OutOfPlace as cause:
            where = url.netloc.decode()
            raise errors.OutOfReach(self._server, where, cause.place) from None

    def _places_for(self, url: httpx2.URL) -> Collection[str] | None:
        return None if url.host in self._named else self._places

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()
