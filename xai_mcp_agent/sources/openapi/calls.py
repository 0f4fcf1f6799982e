"""One call of an operation, from its arguments to its result, within one limit of time.

Imported with the first call: its libraries are heavy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

import anyio
import anyio.to_thread

from ...core.errors import ToolTimeout
from ...core.results import OnProgress, ToolResult
from ...secrets.secrets import Mask
from ...settings.openapi import AsyncSettings, OpenApiSettings, OperationSettings
from ..web.origins import origin_of
from .auth import ClientTokens, ServiceAuth, grants_for
from .client import ResponseTooLarge, ServiceClient, ServiceResponse
from .jobs import Ask, JobWatch, job_of
from .plan import RequestPlan
from .request import RequestParts, put_together, request_parts
from .results import result_of
from .templates import override


class ServiceCalls:
    """Calls operations of one service. Whoever made it closes it."""

    def __init__(self, settings: OpenApiSettings, mask: Mask) -> None:
        self._settings = settings
        self._mask = settings.secrets.redact
        max_bytes = settings.max_answer_bytes
        self._client = ServiceClient(settings.name, mask, max_bytes=max_bytes)
        self._tokens = ClientTokens(self._client, settings.secrets)

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()

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
        settings = self._settings
        base = settings.base_url.rstrip("/") or plan.base_url
        auth = ServiceAuth(grants_for(plan.security, settings.auth, base), self._tokens)
        limit = timeout_seconds or operation.call_timeout_seconds
        began = anyio.current_time()
        try:
            with anyio.fail_after(limit or settings.call_timeout_seconds) as scope:
                # In a thread: arguments may hold whole files.
                write = partial(_request_parts, plan, arguments, operation, base)
                parts = await anyio.to_thread.run_sync(write)
                if check is not None:
                    check()
                request = put_together(parts, settings.headers)
                response = await self._client.send(request, places, auth=auth)
                job = job_of(response, operation, base)
                if job is None:
                    return await result_of(response, self._mask)
                job_settings = operation.job or AsyncSettings()
                scope.deadline = began + (limit or job_settings.deadline_seconds)
                ask = self._asker(base, auth, places)
                watch = JobWatch(settings.name, job_settings, base, ask, self._mask)
                return await watch.result(job, on_progress)
        except ResponseTooLarge as cause:
            return ToolResult.of_text(str(cause), is_error=True)
        except TimeoutError as cause:
            waited = anyio.current_time() - began
            raise ToolTimeout(
                settings.name,
                f"no result within {round(waited, 1) or round(waited, 3):g} s.",
                "Give it more time with `timeout`, or ask for less.",
            ) from cause

    def _asker(self, base: str, auth: ServiceAuth, places: Collection[str] | None) -> Ask:
        """Return what asks about a job; at another origin it takes no credentials along."""

        async def ask(method: str, url: str) -> ServiceResponse:
            parts = RequestParts(method, url, {"Accept": "application/json, */*"})
            if origin_of(url) != origin_of(base):
                return await self._client.send(put_together(parts))
            request = put_together(parts, self._settings.headers)
            return await self._client.send(request, places, auth=auth)

        return ask


def _request_parts(
    plan: RequestPlan, arguments: Mapping[str, Any], operation: OperationSettings, base: str
) -> RequestParts:
    parts = request_parts(plan, arguments, base_url=base)
    return override(parts, operation, arguments, base)
