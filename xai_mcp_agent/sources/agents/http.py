"""The HTTP connection to one agent: only to places that it may go to, and all of it limited.

Imported when an agent is reached: its libraries are heavy.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar
from urllib.parse import urlsplit

import anyio.to_thread
import httpx2

from ...settings.sources import AgentSettings
from ..http import NEVER_SENT, WebClient, read_body, why_not_followed
from ..web.large_json import TooMuch, read_large
from .failures import MAX_ANSWER_BYTES, Failures

T = TypeVar("T")

_MAX_REFUSAL_BYTES = 64 * 1024  # the reason is in its first lines
_LONG_BYTES = 64 * 1024  # read in a thread above this: it takes a hundredth of a second
_DEFAULT_PORTS = {"http": 80, "https": 443}
_NOT_MODIFIED = 304
_UNSENT = (*NEVER_SENT, httpx2.UnsupportedProtocol)


class AgentHttp:
    """Sends requests with the agent's headers. All methods raise `SourceError` kinds.

    Reads have no limit of their own: every call has one, and a stream may be silent for long.
    """

    def __init__(self, settings: AgentSettings, failures: Failures) -> None:
        self.failures = failures
        self._allowed = {_place_of(settings.url), *map(_named_place, settings.allowed_hosts)}
        self._is_secure = urlsplit(settings.url).scheme.lower() == "https"
        # An agent could send bombs otherwise.
        headers = {"accept-encoding": "identity"} | settings.sent_headers
        self._client = WebClient(headers, keeps_cookies=True)

    def may_go_to(self, url: str) -> bool:
        """Whether the settings allow requests to this address: the agent itself may have named it.

        Where the agent is reached with TLS nothing goes without.
        """
        scheme, _, _ = url.partition(":")
        if scheme.lower() not in ("https", *(() if self._is_secure else ("http",))):
            return False
        host, port = _place_of(url)
        return bool(host) and bool({(host, port), (host, None)} & self._allowed)

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes = b""
    ) -> httpx2.Response:
        """The response to a request, whatever its status; its body is still to be read."""
        if not self.may_go_to(url):
            raise self.failures.not_allowed(url)
        try:
            request = await self._client.build(method, url, headers, content)
        except OSError as cause:
            problem = f"the certificates that SSL_CERT_FILE names cannot be read: {cause}."
            fix = "Correct SSL_CERT_FILE or SSL_CERT_DIR in the environment, or remove it."
            raise self.failures.failed(problem, fix) from cause
        response = await self._sent(request)
        while response.is_redirect and response.status_code != _NOT_MODIFIED:
            await response.aclose()
            if reason := why_not_followed(response, self.failures.words):
                raise self.failures.redirected(response.status_code, reason)
            assert response.next_request is not None
            response = await self._sent(response.next_request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise self.failures.unreadable("it is compressed, which was not asked for")
        return response

    async def body(self, response: httpx2.Response) -> bytes:
        """The whole body; of a refusal its beginning."""
        is_refusal = response.status_code >= 400
        limit = _MAX_REFUSAL_BYTES if is_refusal else MAX_ANSWER_BYTES
        try:
            body = await read_body(response, limit)
        except httpx2.HTTPError as cause:
            raise self.failures.lost(cause) from cause
        if len(body) > limit and not is_refusal:
            raise self.failures.too_large()
        return body[:limit]

    async def events(self, response: httpx2.Response) -> AsyncGenerator[bytes]:
        """The data of each event of a stream, as it comes."""
        try:
            async with aclosing(response):
                async for event in httpx2.EventSource(response, MAX_ANSWER_BYTES):
                    if event.data:
                        yield event.data.encode()
        except httpx2.SSEError:
            raise self.failures.too_large() from None
        except httpx2.HTTPError as cause:
            raise self.failures.lost(cause) from cause

    async def parse(self, body: bytes, read: Callable[[Any], T]) -> T:
        """The JSON in a body as `read` gives it; of a long one in a thread, and in small steps."""
        try:
            if len(body) > _LONG_BYTES:
                return await anyio.to_thread.run_sync(lambda: read(read_large(body)))
            return read(json.loads(body))
        except TooMuch as cause:
            raise self.failures.unreadable(str(cause)) from None
        except (ValueError, RecursionError):
            raise self.failures.unreadable(_instead_of_json(body)) from None

    async def aclose(self) -> None:
        """Close its connections."""
        await self._client.close()

    async def _sent(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await self._client.send(request)
        except _UNSENT as cause:
            raise self.failures.unreachable(cause) from cause
        except httpx2.HTTPError as cause:
            raise self.failures.lost(cause) from cause


def _place_of(url: str) -> tuple[str, int | None]:
    """The host and port of an address; a host that nothing is at for one that is none."""
    try:
        parts = urlsplit(url)
        return (parts.hostname or "").lower(), parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return "", 0


def _named_place(host: str) -> tuple[str, int | None]:
    """A host of the settings: with its port or, without one, for every port."""
    try:
        parts = urlsplit(host if "://" in host else f"//{host}")
        return (parts.hostname or "").lower(), parts.port
    except ValueError:
        return "", 0


def _instead_of_json(body: bytes) -> str:
    if not body.strip():
        return "it is empty"
    return "it is an HTML page" if body.lstrip()[:1] == b"<" else "it is not JSON"
