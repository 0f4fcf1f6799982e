"""One call of an operation, from its arguments to its result, within one limit of time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import anyio
import anyio.to_thread

from ....core.errors import ToolTimeout
from ....core.results import OnProgress, ToolResult
from ....secrets.secrets import Mask, Secrets
from ....settings.entry import CALL_TIMEOUT_SECONDS
from ....settings.openapi import AsyncSettings, OperationSettings
from ...web.origins import origin_of
from ..plan import RequestPlan
from ..requests.overrides import overridden
from ..requests.request import NO_ACCESS, RequestParts, put_together, request_parts
from .auth import Credentials, Grant, access_of, grants_for
from .client import Answer, ServiceClient, TooLarge
from .polling import JobWatch, job_of
from .response import result_within
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
        self._mask: Mask = access.secrets.redact
        self._tokens = ClientTokens(client.name, client, access.secrets)

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
        limit = timeout_seconds or operation.call_timeout_seconds
        job_limit = limit or (operation.job or AsyncSettings()).deadline_seconds
        began = anyio.current_time()
        try:
            with anyio.fail_after(limit or self._access.timeout_seconds) as scope:
                base = self._access.base_url or plan.base_url
                grants = grants_for(plan.security, self._access.credentials, base)

                async def send(parts: RequestParts) -> Answer:
                    # What an operator's `url` names may be anywhere.
                    is_named = origin_of(parts.url) != origin_of(base)
                    return await self._sent(parts, grants, None if is_named else places)

                answer = await send(await _request_parts(plan, arguments, operation, base, check))
                job = job_of(answer, operation, base)
                if job is None:
                    return await result_within(answer, self._mask)
                scope.deadline = began + job_limit
                watch = self._watch(operation, base, send)
                return await watch.result(job, on_progress)
        except TooLarge as cause:
            return ToolResult.of_text(str(cause), is_error=True)
        except TimeoutError as cause:
            waited = anyio.current_time() - began
            raise ToolTimeout(
                self._client.name,
                f"no result within {round(waited, 1) or round(waited, 3):g} s.",
                "Give it more time with `timeout`, or ask for less.",
            ) from cause

    async def _sent(
        self, parts: RequestParts, grants: Sequence[Grant], places: Collection[str] | None
    ) -> Answer:
        """The answer to a request with credentials; a token that is refused is got anew, once."""
        tokens = {x: await self._tokens.token(x) for x in grants if x.takes_token}
        answer = await self._sent_with(parts, grants, tokens, places)
        if answer.status != 401 or not tokens:
            return answer
        tokens = {x: await self._tokens.token(x, refused=token) for x, token in tokens.items()}
        return await self._sent_with(parts, grants, tokens, places)

    async def _sent_with(
        self,
        parts: RequestParts,
        grants: Sequence[Grant],
        tokens: Mapping[Grant, str],
        places: Collection[str] | None,
    ) -> Answer:
        access = access_of(grants, tokens.__getitem__)
        request = put_together(parts, access=access, extra_headers=self._access.headers)
        return await self._client.send(request, places)

    def _watch(
        self,
        operation: OperationSettings,
        base: str,
        send: Callable[[RequestParts], Awaitable[Answer]],
    ) -> JobWatch:
        async def ask(method: str, url: str) -> Answer:
            parts = RequestParts(method, url, {"Accept": "application/json, */*"})
            if origin_of(url) == origin_of(base):
                return await send(parts)
            return await self._client.send(put_together(parts, access=NO_ACCESS))

        settings = operation.job or AsyncSettings()
        return JobWatch(self._client.name, settings, base, ask, self._mask)


async def _request_parts(
    plan: RequestPlan,
    arguments: Mapping[str, Any],
    operation: OperationSettings,
    base: str,
    check: Callable[[], None] | None,
) -> RequestParts:
    """What is sent; in a thread where writing it takes long. `check` is called when it is ready."""

    def parts() -> RequestParts:
        made = request_parts(plan, arguments, base_url=base)
        return overridden(made, operation, arguments, base)

    has_files = plan.body is not None and "json" not in plan.body.media_type
    takes_long = has_files or _is_large(arguments)
    made = await anyio.to_thread.run_sync(parts) if takes_long else parts()
    if check is not None:
        check()
    return made


def _is_large(arguments: Mapping[str, Any]) -> bool:
    """Whether writing them takes long enough for others to notice. Looks no further than needed."""
    left, values = _LARGE_ARGUMENTS, list[Any](arguments.values())
    while values and left > 0:
        value = values.pop()
        left -= len(value) if isinstance(value, str) else _EACH_VALUE
        if isinstance(value, dict | list):
            inner = cast(Sequence[Any], value.values() if isinstance(value, dict) else value)
            left -= _EACH_VALUE * len(inner)
            if left > 0:
                values.extend(inner)
    return left <= 0
