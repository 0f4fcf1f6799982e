"""The short way of a message to its server, and of the answer back.

On its usual way a request is put together and sent by layers of httpx2 for whatever may come: that
is a quarter of all the work for a small call. Here is what they do for a message and its answer;
where more is to be done, as for getting access, the request takes the usual way.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import httpx2

from ..auth.authorization import Authorization

_HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


class DirectClient(httpx2.AsyncClient):
    """An HTTP client with a short way to its `endpoint`. `options` are those of `AsyncClient`."""

    def __init__(self, endpoint: str, authorization: Authorization | None, **options: Any) -> None:
        auth = authorization.as_httpx_auth() if authorization else None
        super().__init__(auth=auth, **options)
        # Taken apart once: for each request anew that is a fifteenth of all the work for a call.
        self.endpoint = httpx2.URL(endpoint)
        self._authorization = authorization
        self._way = self._transport_for_url(self.endpoint)
        same_for_all = httpx2.Headers({**self.headers, **_HEADERS})
        same_for_all.setdefault("host", self.endpoint.netloc.decode())
        self._same_for_all = dict(same_for_all.raw)
        self._limits = {"timeout": self.timeout.as_dict()}

    def message_request(self, content: bytes, headers: Mapping[str, str]) -> httpx2.Request:
        """A request that posts a message, with these headers besides those of all requests."""
        own = {name.lower().encode(): value.encode() for name, value in headers.items()}
        own[b"content-length"] = str(len(content)).encode()
        request = httpx2.Request(
            "POST",
            self.endpoint,
            headers={**self._same_for_all, **own},
            stream=httpx2.ByteStream(content),
            extensions=self._limits,
        )
        if self.cookies:
            self.cookies.set_cookie_header(request)
        return request

    async def send_message(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request of `message_request`; the body of the answer is still to be read.

        Raises:
            RequestError: there is no answer.
            AuthFailure: there is no access.
        """
        if self._has_settled_access and (response := await self._send(request)):
            return response
        return await super().send(request, stream=True, follow_redirects=False)

    @property
    def _has_settled_access(self) -> bool:
        if self._authorization is None:
            return not self.endpoint.userinfo
        return self._authorization.is_settled

    async def _send(self, request: httpx2.Request) -> httpx2.Response | None:
        """The answer; None where the server wants other access, and the message has to go again."""
        access = self._authorization
        token = access.sign(request) if access else ""
        try:
            response = await self._way.handle_async_request(request)
        except httpx2.RequestError as cause:
            cause.request = request
            raise
        response.request = request
        if access and access.is_wanted_by(response):
            await response.aclose()
            return None
        if access:
            access.note_taken(token)
        if "set-cookie" in response.headers:
            self.cookies.extract_cookies(response)
        if response.has_redirect_location:
            with suppress(httpx2.RemoteProtocolError):  # it leads nowhere
                response.next_request = self._build_redirect_request(request, response)
        return response
