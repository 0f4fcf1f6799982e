"""One call of an operation, from its arguments to its result, within one limit of time.

Imported with the first call: its libraries are heavy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_thread

from ...core.errors import ToolTimeout
from ...core.json import children
from ...core.results import OnProgress, ToolResult
from ...secrets.secrets import Secrets
from ...settings.entry import CALL_TIMEOUT_SECONDS
from ...settings.openapi import AsyncSettings, OperationSettings
from ..web.origins import origin_of
from .auth import Credentials, Grant, access_of, grants_for
from .client import ResponseTooLarge, ServiceClient, ServiceResponse
from .jobs import JobWatch, job_of
from .plan import RequestPlan
from .request import NO_ACCESS, RequestParts, put_together, request_parts
from .results import result_of
from .templates import override
from .tokens import ClientTokens

# Characters above which writing them is worth a thread; each value within others stands for some.
_LARGE_ARGUMENTS, _EACH_VALUE = 32 * 1024, 32


@dataclass(frozen=True, kw_only=True)
class ServiceAccess:
    """What all calls of a service have in common. `headers` are the operator's own."""

    base_url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    credentials: Credentials = field(default_factory=dict[str, Any])
    secrets: Secrets = field(default_factory=Secrets)
    timeout_seconds: float = CALL_TIMEOUT_SECONDS


class ServiceCalls:
    """Calls operations of one service through its client."""

    def __init__(self, client: ServiceClient, access: ServiceAccess) -> None:
        self._client = client
        self._access = access
        self._mask = access.secrets.redact
        self._tokens = ClientTokens(client, access.secrets)

    async def call(
        self,
        plan: RequestPlan,
        arguments: Mapping[str, Any],
        operation: OperationSettings | None = None,
        *,
        timeout_seconds: float | None = None,
        on_progress: OnProgress | None = None,
        check: Callable[[], None] | None = None,
        places: Collection[str] | None = None,
    ) -> ToolResult:
        """Call an operation and wait for its result, also where that is a job's.

        `check` is called right before anything is sent. `places` are those where the service may
        be (core/places.py), by default all. What the service refuses is a result that is an error.

        Raises:
            OutOfPlace: it is in none of `places`.
            InvalidArguments: they cannot be sent.
            CredentialsMissing: the settings have none that the operation takes.
            SourceFailed: the service, or where it leads, cannot be reached.
            SourceClosed: the connection was lost.
            ToolTimeout: there is no result within the limit.
        """
        operation = operation or OperationSettings()
        base = self._access.base_url or plan.base_url
        call = _Call(self._client, self._access, self._tokens, plan, base, places)
        limit = timeout_seconds or operation.call_timeout_seconds
        began = anyio.current_time()
        try:
            with anyio.fail_after(limit or self._access.timeout_seconds) as scope:
                parts = await _request_parts(plan, arguments, operation, base)
                if check is not None:
                    check()
                response = await call.send(parts)
                job = job_of(response, operation, base)
                if job is None:
                    return await result_of(response, self._mask)
                settings = operation.job or AsyncSettings()
                scope.deadline = began + (limit or settings.deadline_seconds)
                watch = JobWatch(self._client.name, settings, base, call.ask, self._mask)
                return await watch.result(job, on_progress)
        except ResponseTooLarge as cause:
            return ToolResult.of_text(str(cause), is_error=True)
        except TimeoutError as cause:
            waited = anyio.current_time() - began
            raise ToolTimeout(
                self._client.name,
                f"no result within {round(waited, 1) or round(waited, 3):g} s.",
                "Give it more time with `timeout`, or ask for less.",
            ) from cause


class _Call:
    """Sends the requests of one call, with credentials where they belong."""

    def __init__(
        self,
        client: ServiceClient,
        access: ServiceAccess,
        tokens: ClientTokens,
        plan: RequestPlan,
        base: str,
        places: Collection[str] | None,
    ) -> None:
        self._client = client
        self._headers = access.headers
        self._tokens = tokens
        self._base = base
        self._places = places
        self._grants: Sequence[Grant] = grants_for(plan.security, access.credentials, base)

    async def send(self, parts: RequestParts) -> ServiceResponse:
        """Send a request with credentials; a token that is refused is got anew, once."""
        tokens = {x: await self._tokens.token(x) for x in self._grants if x.takes_token}
        response = await self._send_with(parts, tokens)
        if response.status != 401 or not tokens:
            return response
        tokens = {x: await self._tokens.token(x, refused=text) for x, text in tokens.items()}
        return await self._send_with(parts, tokens)

    async def ask(self, method: str, url: str) -> ServiceResponse:
        """Send a request about a job; to another origin it takes no credentials along."""
        parts = RequestParts(method, url, {"Accept": "application/json, */*"})
        if origin_of(url) == origin_of(self._base):
            return await self.send(parts)
        return await self._client.send(put_together(parts, access=NO_ACCESS))

    async def _send_with(self, parts: RequestParts, tokens: Mapping[Grant, str]) -> ServiceResponse:
        access = access_of(self._grants, tokens.__getitem__)
        request = put_together(parts, access=access, extra_headers=self._headers)
        return await self._client.send(request, self._places)


async def _request_parts(
    plan: RequestPlan, arguments: Mapping[str, Any], operation: OperationSettings, base: str
) -> RequestParts:
    """Return what is sent; written in a thread where that takes long."""

    def write() -> RequestParts:
        parts = request_parts(plan, arguments, base_url=base)
        return override(parts, operation, arguments, base)

    has_files = plan.body is not None and "json" not in plan.body.media_type
    if has_files or _is_large(arguments):
        return await anyio.to_thread.run_sync(write)
    return write()


def _is_large(arguments: Mapping[str, Any]) -> bool:
    """Whether writing them takes long enough for others to notice. Looks no further than needed."""
    left, queue = _LARGE_ARGUMENTS, list[Any](arguments.values())
    while queue and left > 0:
        value = queue.pop()
        left -= len(value) if isinstance(value, str) else _EACH_VALUE
        inner = children(value)
        left -= _EACH_VALUE * len(list(inner))
        if left > 0:
            queue += inner
    return left <= 0
