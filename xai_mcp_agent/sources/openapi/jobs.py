"""Calls of operations, from arguments to result, including results that a job produces.

An operation may start a job: its status is polled with growing pauses, then its result is read. A
first response with 202 and an address starts a job; the settings can describe any other kind.
Imported at the first call because its libraries are heavy.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from urllib.parse import quote, unquote, urljoin, urlsplit

import anyio
import anyio.to_thread

from ...core.backoff import Backoff
from ...core.errors import Misdirected, SourceError, ToolTimeout, XaiMcpError
from ...core.json import at
from ...core.results import OnProgress, TextPart, ToolResult
from ...secrets.secrets import Mask, mask_and_cut
from ...settings.openapi import AsyncSettings, OpenApiSettings, OperationSettings
from ..http import retry_after
from ..polling import NotYet, poll
from ..web.origins import origin_of
from .auth import ClientTokens, ServiceAuth, grants_for
from .client import ResponseTooLarge, ServiceClient, ServiceResponse
from .plan import RequestPlan
from .request import RequestParts, assemble_request, request_parts
from .results import result_of
from .templates import override

Ask: TypeAlias = Callable[[str, str], Awaitable[ServiceResponse]]
"""Send a request without a body: method and URL. It adds the right credentials itself."""

_ACCEPTED = 202
_HEADERS = ("operation-location", "azure-asyncoperation", "location")
_STATUS = ("/status", "/state")
_TROUBLE = (408, 425, 429, 500, 502, 503, 504)  # temporary errors
_MAX_LOST = 5  # in a row
_CANCEL_SECONDS = 5.0  # the caller who cancels waits this long
_HOLE = re.compile(r"\{(job|url|result)\}")

logger = logging.getLogger(__name__)


class ServiceCalls:
    """Caller for the operations of one service. Its creator closes it."""

    def __init__(self, settings: OpenApiSettings, mask: Mask) -> None:
        self._settings = settings
        self._mask = settings.secrets.redact
        max_bytes = settings.max_answer_bytes
        self._client = ServiceClient(settings.name, mask, max_bytes=max_bytes)
        self._tokens = ClientTokens(self._client, settings.secrets)

    async def close(self) -> None:
        """Close the connections."""
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
        """Call an operation and wait for its result, even if a job produces it.

        `check` is called right before anything is sent. `places` limits where the service may be
        (core/places.py), by default anywhere. A refusal by the service is returned as an error
        result.

        Raises:
            OutOfPlace: the service is in none of `places`.
            InvalidArguments: the arguments cannot be sent.
            CredentialsMissing: the settings have no credentials that the operation accepts.
            SourceFailed: the service, or a host that it redirects to, cannot be reached.
            SourceClosed: the connection was lost.
            ToolTimeout: there is no result within the limit.
        """
        operation, settings = operation or OperationSettings(), self._settings
        base = settings.base_url.rstrip("/") or plan.base_url
        auth = ServiceAuth(grants_for(plan.security, settings.auth, base), self._tokens)
        limit, began = timeout_seconds or operation.call_timeout_seconds, anyio.current_time()

        def write() -> RequestParts:
            parts = request_parts(plan, arguments, base_url=base)
            return override(parts, operation, arguments, base)

        try:
            with anyio.fail_after(limit or settings.call_timeout_seconds) as scope:
                # In a thread: arguments may contain whole files.
                parts = await anyio.to_thread.run_sync(write)
                if check is not None:
                    check()
                request = assemble_request(parts, settings.headers)
                response = await self._client.send(request, places, auth=auth)
                job = _job_of(response, operation, base)
                if job is None:
                    return await result_of(response, self._mask)
                job_settings = operation.job or AsyncSettings()
                scope.deadline = began + (limit or job_settings.deadline_seconds)
                ask = self._asker(base, auth, places)
                watch = _JobWatch(
                    settings.name, job, job_settings, base, ask, self._mask, on_progress
                )
                return await watch.result()
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
        """Return a function that asks about a job; it sends no credentials to another origin."""

        async def ask(method: str, url: str) -> ServiceResponse:
            parts = RequestParts(method, url, {"Accept": "application/json, */*"})
            if origin_of(url) != origin_of(base):
                return await self._client.send(assemble_request(parts))
            request = assemble_request(parts, self._settings.headers)
            return await self._client.send(request, places, auth=auth)

        return ask


# Jobs


@dataclass(frozen=True, slots=True)
class _Job:
    """A started job: its id, its address, and the response that started it."""

    id: str
    url: str
    first: ServiceResponse


def _job_of(response: ServiceResponse, operation: OperationSettings, base_url: str) -> _Job | None:
    """Return the job that a response starts, or None if the response is the result itself."""
    is_job = operation.is_job or response.status == _ACCEPTED
    if operation.mode == "sync_http" or response.status >= 300 or not is_job:
        return None
    settings = operation.job or AsyncSettings()
    job_id, url = _reference(response, settings), ""
    if "/" in job_id or job_id.startswith("?"):
        try:
            url = urljoin(response.url, job_id)
            job_id = unquote(urlsplit(job_id).path.rstrip("/").rpartition("/")[2])
        except ValueError:
            return None  # not an address: the response is all there is
    if settings.poll_url and (job_id or url):
        url = _fill(settings.poll_url, base_url, job=job_id, url=url)
    return _Job(job_id, url, response) if url else None


@dataclass
class _JobWatch:
    """Poller that follows one job of the service `name` to its end."""

    name: str
    job: _Job
    settings: AsyncSettings
    base_url: str
    ask: Ask
    mask: Mask
    on_progress: OnProgress | None
    was_accepted: bool = False

    async def result(self) -> ToolResult:
        """Wait for the result of the job. If cancelled, ask the service to end it.

        Raises:
            Misdirected: the job is at another host.
            SourceFailed: the service does not answer.
        """
        settings = self.settings
        self._check_host(self.job.url)
        pauses = Backoff(settings.interval_seconds, settings.max_interval_seconds, settings.growth)
        try:
            before = NotYet(retry_after(self.job.first.headers))
            response = await poll(self._ask_status, pauses, before)
        except anyio.get_cancelled_exc_class():
            await self._cancel()
            raise
        whole = await result_of(response, self.mask)
        if response.status >= 300:
            return whole
        verdict = self._verdict(response)
        if verdict == "done":
            return await self._read(response, whole)
        status = mask_and_cut(self._status(response), self.mask)
        problem = f"The job ended as {status}."
        if verdict == "unexpected":
            words = f"an unexpected status, {status!r}" if status else "no status"
            problem = f"The job has {words}."
        return ToolResult.of_text(f"{problem}\n{whole.text}", is_error=True)

    async def _ask_status(self, lost: int) -> ServiceResponse | NotYet:
        """Return the final response about the job, or `NotYet` while it runs."""
        try:
            response = await self.ask("GET", self.job.url)
        except SourceError as cause:  # no connection: the service may be restarting
            if isinstance(cause, Misdirected | ResponseTooLarge) or lost == _MAX_LOST:
                raise
            return NotYet(is_lost=True)
        wait = retry_after(response.headers)
        if response.status in _TROUBLE and lost < _MAX_LOST:
            return NotYet(wait, is_lost=True)
        if response.status >= 300:
            return response
        if self.on_progress is not None:
            await self._report(response, self.on_progress)
        if self._verdict(response) != "running":
            return response
        self.was_accepted = response.status == _ACCEPTED
        return NotYet(wait)

    def _status(self, response: ServiceResponse) -> str:
        value, pointer = response.json(), self.settings.status_pointer
        values = (at(value, x) for x in ((pointer,) if pointer else _STATUS))
        return next((_text(x) for x in values if isinstance(x, str | bool | int)), "")

    def _verdict(
        self, response: ServiceResponse
    ) -> Literal["running", "done", "failed", "unexpected"]:
        """Return what a status means for its job."""
        settings, status = self.settings, self._status(response)
        is_accepted = response.status == _ACCEPTED
        if _is_one_of(status, settings.success):
            return "done"
        if _is_one_of(status, settings.failure):
            return "failed"
        if not status:
            final = "unexpected" if settings.status_pointer else "done"
            return "running" if is_accepted else final
        if settings.running:
            return "running" if _is_one_of(status, settings.running) else "unexpected"
        # An unlisted status, such as `ready`: after answers of 202, any other code means done.
        return "running" if is_accepted or not self.was_accepted else "done"

    async def _report(self, response: ServiceResponse, on_progress: OnProgress) -> None:
        progress = at(response.json(), self.settings.progress_pointer)
        progress = progress if isinstance(progress, int | float) else 0
        # A fraction or a percentage.
        total = (1.0 if progress <= 1 else 100.0) if progress else None
        status = mask_and_cut(self._status(response), self.mask)
        await on_progress(float(progress), total, status)

    async def _read(self, response: ServiceResponse, whole: ToolResult) -> ToolResult:
        """Read the result: a part of the last response, or the response at another address."""
        settings = self.settings
        pointer = settings.result_pointer
        value = at(response.json(), pointer) if pointer else None
        if settings.result_url:
            holes = {"job": self.job.id, "url": self.job.url, "result": _text(value)}
            url = _fill(settings.result_url, self.base_url, **holes)
            self._check_host(url)
            return await result_of(await self.ask("GET", url), self.mask)
        if not pointer:
            return whole
        if value is None:
            text = f"The job is done, and has nothing at {pointer}."
            return ToolResult.of_text(f"{text}\n{whole.text}")
        return ToolResult((TextPart(_text(value)),), structured=value)

    async def _cancel(self) -> None:
        """Cancel the job if the settings say how: a deleted job may lose its results."""
        settings = self.settings
        if not settings.cancel_url:
            return
        url = _fill(settings.cancel_url, self.base_url, job=self.job.id, url=self.job.url)
        with anyio.move_on_after(_CANCEL_SECONDS, shield=True):
            try:
                self._check_host(url)
                await self.ask(settings.cancel_method, url)
            except XaiMcpError as cause:  # the caller gets the cancellation or the timeout
                logger.warning("%s: its job could not be cancelled: %s", self.name, cause)

    def _check_host(self, url: str) -> None:
        """Refuse an address at another host unless the settings allow it.

        Raises:
            Misdirected: the address is at another host.
        """
        parts, base = urlsplit(url), urlsplit(self.base_url)
        if not parts.username and origin_of(url) == origin_of(self.base_url):
            return
        is_safe = parts.scheme in ("https", base.scheme)
        if is_safe and {parts.hostname, parts.netloc} & set(self.settings.hosts):
            return
        address = mask_and_cut(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", self.mask)
        raise Misdirected(
            self.name, f"its job is at another host, {address}, which is not asked.",
            f"If that is right, add {parts.hostname!r} to `hosts` under `async` of the operation.",
        )  # fmt: skip


def _reference(response: ServiceResponse, settings: AsyncSettings) -> str:
    """Return the job's id or address from the first response."""
    if settings.job_pointer:
        value = at(response.json(), settings.job_pointer)
        return _text(value) if isinstance(value, str | int) else ""
    names = (settings.job_header.lower(),) if settings.job_header else _HEADERS
    texts = (response.headers.get(name, "").strip() for name in names)
    return next(filter(None, texts), "")


def _fill(template: str, base_url: str, **holes: str) -> str:
    """Return the address from a template. A path is relative to the base URL."""

    def fill(hole: re.Match[str]) -> str:
        text = holes.get(hole[1], "")
        is_whole = hole[1] == "url" or hole[0] == template
        return text if is_whole else quote(text, safe="")

    url = _HOLE.sub(fill, template)
    return urljoin(base_url, url) if "://" in url else base_url.rstrip("/") + "/" + url.lstrip("/")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _is_one_of(status: str, values: tuple[str, ...]) -> bool:
    return status.casefold() in {x.casefold() for x in values if x}
