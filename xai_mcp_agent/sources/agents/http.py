"""HTTP connection to one agent, limited in size and in the addresses it may reach.

Imported only when an agent is reached: its libraries are heavy. An agent's text is untrusted: it is
cleaned, masked and cut before it goes into an error.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar
from urllib.parse import urlsplit

import anyio.to_thread
import httpx2

from ...core.errors import ServerError, SourceClosed, SourceError, SourceFailed
from ...core.json import is_object
from ...core.provider_schema import function_description
from ...secrets.secrets import Mask, mask_and_cut
from ...settings.sources import AgentSettings
from ..http import NotFollowed, WebClient, failure_of, read_body
from ..web.json_text import LONG_BYTES, read_json
from ..web.network_errors import CHECK_FIRST, STATUS_HELP
from ..web.origins import origin_of

T = TypeVar("T")

MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""Limit for one answer, or for all events of a stream, including files."""

_MAX_REFUSAL_BYTES = 64 * 1024  # the reason is in the first lines
_MAX_WORDS = 300  # length of an agent's text in an error
_DEFAULT_PORTS = {"http": 80, "https": 443}
_TRACEBACK = "Traceback (most recent call last)"
_STATUS_HELP = {
    **STATUS_HELP,
    401: "Add a valid token as `bearer`, or the header that it wants under `headers`.",
    404: "Check `url`: there is nothing at that address.",
}
_ASK_THE_AGENT = "These are the agent's own words; its log may say more."
# JSON-RPC codes of A2A.
_CODE_HELP = {
    -32001: "Leave `task_id` out to begin a new task.",
    -32004: "If the task has ended, leave `task_id` out: with its `context_id` alone the agent "
    "continues the same conversation.",
    -32005: "Say it in words, without `data`.",
    -32602: "Check the arguments.",
}


class AgentHttp:
    """Sends requests with the agent's headers. All methods raise `SourceError` kinds.

    Reads have no timeout here: every call has one, and a stream may be silent for long.
    """

    def __init__(self, settings: AgentSettings, mask: Mask) -> None:
        self._name = settings.name
        self._mask = mask
        self._allowed = {_place_of(settings.url), *map(_named_place, settings.allowed_hosts)}
        self._is_secure = urlsplit(settings.url).scheme.lower() == "https"
        self._client = WebClient(settings.request_headers, keeps_cookies=True)

    def may_go_to(self, url: str) -> bool:
        """Return whether the settings allow this address, which the agent itself may have named.

        An agent reached over TLS is never reached without.
        """
        scheme, _, _ = url.partition(":")
        if scheme.lower() not in ("https", *(() if self._is_secure else ("http",))):
            return False
        host, port = _place_of(url)
        return bool(host) and bool({(host, port), (host, None)} & self._allowed)

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes = b""
    ) -> httpx2.Response:
        """Return the response to a request, with any status and an unread body."""
        if not self.may_go_to(url):
            raise self.place_error(url)
        try:
            request = await self._client.build(method, url, headers, content)
            response, _ = await self._client.follow(request, self._mask)
            if response.is_redirect:
                await response.aclose()
                raise NotFollowed("it redirects to no valid address")
        except NotFollowed as cause:
            fix = "Write the address where the agent really is as `url`."
            raise self.failure(f"{cause}.", fix) from None
        except (OSError, httpx2.HTTPError) as cause:
            raise failure_of(self._name, cause, self.words) from cause
        return response

    async def body(self, response: httpx2.Response) -> bytes:
        """Return the whole body, or the beginning of a refusal."""
        is_refusal = response.status_code >= 400
        limit = _MAX_REFUSAL_BYTES if is_refusal else MAX_ANSWER_BYTES
        try:
            body = await read_body(response, limit)
        except httpx2.HTTPError as cause:
            raise failure_of(self._name, cause, self.words) from cause
        if len(body) > limit and not is_refusal:
            raise self.size_error()
        return body[:limit]

    async def events(self, response: httpx2.Response) -> AsyncGenerator[bytes]:
        """Yield the data of each event of a stream, as it arrives."""
        try:
            async with aclosing(response):
                async for event in httpx2.EventSource(response, MAX_ANSWER_BYTES):
                    if event.data:
                        yield event.data.encode()
        except httpx2.SSEError:
            raise self.size_error() from None
        except httpx2.HTTPError as cause:
            raise failure_of(self._name, cause, self.words) from cause

    async def parse(self, body: bytes, read: Callable[[Any], T]) -> T:
        """Parse the JSON in a body and return the result of `read`; in a thread if it is long."""
        try:
            if len(body) > LONG_BYTES:
                return await anyio.to_thread.run_sync(lambda: read(read_json(body)))
            return read(read_json(body))
        except (ValueError, RecursionError):
            raise self.unreadable_error(_instead_of_json(body)) from None

    async def aclose(self) -> None:
        """Close its connections."""
        await self._client.close()

    # Errors

    def words(self, text: str, at_most: int = _MAX_WORDS) -> str:
        """Return an agent's text as one line for people or models; of a traceback, the last."""
        clean = function_description(text)
        if _TRACEBACK in clean:
            clean = clean.strip().rpartition("\n")[2]
        return mask_and_cut(" ".join(clean.split()), self._mask, at_most)

    def failure(self, problem: str, next_step: str) -> SourceFailed:
        """Return the error for an agent that cannot be used. `problem` is in our words."""
        return SourceFailed(self._name, problem, next_step)

    def lost_error(self, cause: Exception) -> SourceClosed:
        """Return the error for an agent that stopped answering while it worked on a task."""
        problem = f"the connection was lost: {self.words(str(cause))}"
        return SourceClosed(self._name, problem, CHECK_FIRST)

    def place_error(self, url: str) -> SourceFailed:
        """Return the error for an address that the settings do not allow."""
        place = self.words("://".join(origin_of(url)))
        return self.failure(
            f"its card wants requests sent to {place}, another place than `url`: no credentials "
            "are sent there.",
            "If that place is right, add its host to `allowedHosts`; else correct `url`.",
        )

    def status_error(self, status: int, body: bytes) -> SourceError:
        """Return the error for an HTTP error status."""
        reason = self.words(_reason_in_body(body))
        problem = f"it answered with HTTP {status}{f': {reason}' if reason else ''}."
        fix = _STATUS_HELP.get(status, _ASK_THE_AGENT)
        if status in (401, 403):
            return self.failure(problem, fix)
        return ServerError(self._name, problem, 0, fix, status=status)

    def protocol_error(self, code: int, error: Any) -> ServerError:
        """Return the error for an error of the protocol, in JSON."""
        reason = self.words(_reason_in(error)) or "it did not say why"
        problem = f"it answered with an error: {reason.rstrip('.')}."
        return ServerError(self._name, problem, code, _CODE_HELP.get(code, _ASK_THE_AGENT))

    def unreadable_error(self, why: str) -> ServerError:
        """Return the error for an answer that cannot be understood; `why` is in our words."""
        fix = "It may speak another protocol, or another version: check its documentation."
        return ServerError(self._name, f"its answer cannot be understood: {why}.", 0, fix)

    def size_error(self) -> ServerError:
        """Return the error for an answer beyond the size limit."""
        return self.unreadable_error(f"it is larger than {MAX_ANSWER_BYTES // 1024**2} MiB")


def _place_of(url: str) -> tuple[str, int | None]:
    """Return host and port of an address; an invalid one has a host that does not exist."""
    try:
        parts = urlsplit(url)
        return (parts.hostname or "").lower(), parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return "", 0


def _named_place(host: str) -> tuple[str, int | None]:
    """Return a host of the settings and its port; None stands for every port."""
    try:
        parts = urlsplit(host if "://" in host else f"//{host}")
        return (parts.hostname or "").lower(), parts.port
    except ValueError:
        return "", 0


def _instead_of_json(body: bytes) -> str:
    if not body.strip():
        return "it is empty"
    return "it is an HTML page" if body.lstrip()[:1] == b"<" else "it is not JSON"


def _reason_in_body(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    if text.lstrip()[:1] == "<":
        return "an HTML page"
    try:
        return _reason_in(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _reason_in(value: Any) -> str:
    """Return the reason in the usual fields of a refusal, or the whole refusal."""
    for name in ("error", "message", "detail"):
        if is_object(value) and name in value:
            value = value[name]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
