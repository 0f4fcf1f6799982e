"""Jobs: an operation starts one, its status is asked for with growing pauses, its result is read.

Recognised by itself where the first answer is 202 and says where; an operator can say anything
else.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias, cast
from urllib.parse import quote, unquote, urljoin, urlsplit

import anyio

from ....core.errors import Misdirected, SourceError, XaiMcpError
from ....core.results import OnProgress, TextPart, ToolResult
from ....secrets.secrets import Mask, masked_and_cut
from ....settings.openapi import AsyncSettings, OperationSettings
from ...web.origins import origin_of
from .client import Answer, TooLarge
from .response import result_within

Ask: TypeAlias = Callable[[str, str], Awaitable[Answer]]
"""Sends a request without a body: method and URL. It knows which credentials belong there."""

_ACCEPTED = 202
_HEADERS = ("operation-location", "azure-asyncoperation", "location")
_STATUS = ("/status", "/state")
_TROUBLE = (408, 425, 429, 500, 502, 503, 504)  # that pass by themselves
_MOST_TROUBLE = 5  # in a row
_CANCEL_SECONDS = 5.0  # whoever cancels waits for it
_MIN_PAUSE_SECONDS = 0.05  # `Retry-After: 0` must not become a storm
_IN_TIME = 0.9  # of what is left of the call: a longer pause could only end without a result
_HOLE = re.compile(r"\{(job|url|result)\}")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_MAX_STATUS_BYTES = 512 * 1024
_MOST_URL_CHARS = 16_384  # no server takes longer ones
_MISSING = object()

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """A job that was started: its id and its address."""

    id: str
    url: str
    first: Answer


def job_of(answer: Answer, operation: OperationSettings, base_url: str) -> Job | None:
    """The job that an answer tells of; None where it is the result itself."""
    if operation.mode == "sync_http" or answer.status >= 300:
        return None
    if not operation.is_job and answer.status != _ACCEPTED:
        return None
    settings = operation.job or AsyncSettings()
    told = _told(answer, settings)
    if not told:
        return None
    is_address = "/" in told or told.startswith("?")
    try:
        job_id = unquote(urlsplit(told).path.rstrip("/").rpartition("/")[2]) if is_address else told
        address = urljoin(answer.url, told) if is_address else ""
    except ValueError:
        return None  # no address at all: what was answered is all there is
    if settings.poll_url:
        address = _filled(settings.poll_url, base_url, job=job_id, url=address)
    return Job(job_id, address, answer) if 0 < len(address) <= _MOST_URL_CHARS else None


class JobWatch:
    """Follows one job to its end."""

    def __init__(
        self, name: str, settings: AsyncSettings, base_url: str, ask: Ask, mask: Mask
    ) -> None:
        self._name = name
        self._settings = settings
        self._base_url = base_url
        self._ask = ask
        self._mask = mask

    async def result(self, job: Job, on_progress: OnProgress | None = None) -> ToolResult:
        """Wait for its result. Cancelled meanwhile, the service is told to end it.

        Raises:
            Misdirected: the job is at another host.
            SourceFailed: it cannot be asked for.
        """
        self._check_host(job.url)
        try:
            answer = await self._finished(job, on_progress)
        except anyio.get_cancelled_exc_class():
            await self._cancel(job)
            raise
        if isinstance(answer, ToolResult):
            return answer
        return await self._read(job, answer)

    async def _finished(self, job: Job, on_progress: OnProgress | None) -> Answer | ToolResult:
        """The answer that says that it is done, or what went wrong with it."""
        pause, trouble, answer = self._settings.interval_seconds, 0, job.first
        was_accepted = False
        while True:
            await anyio.sleep(min(_pause(answer, pause), _longest_pause()))
            pause = min(pause * self._settings.growth, self._settings.max_interval_seconds)
            try:
                answer = await self._ask("GET", job.url)
                is_trouble = answer.status in _TROUBLE
            except SourceError as cause:  # no connection: the service may be starting again
                if isinstance(cause, Misdirected | TooLarge) or trouble == _MOST_TROUBLE:
                    raise
                is_trouble = True
            if is_trouble and trouble < _MOST_TROUBLE:
                trouble += 1
                continue
            trouble = 0
            if answer.status >= 300:
                return await result_within(answer, self._mask)
            status = self._status(answer)
            if on_progress is not None:
                await self._tell(answer, status, on_progress)
            if not self._goes_on(answer, status, was_accepted):
                return await self._failed(answer, status) or answer
            was_accepted = answer.status == _ACCEPTED

    def _status(self, answer: Answer) -> str:
        value = _json(answer)
        pointers = (self._settings.status_pointer,) if self._settings.status_pointer else _STATUS
        found = (at(value, x) for x in pointers)
        return next((_word(x) for x in found if isinstance(x, str | bool | int)), "")

    def _goes_on(self, answer: Answer, status: str, was_accepted: bool) -> bool:
        settings = self._settings
        if _is_one_of(status, settings.success + settings.failure):
            return False
        if not status:
            # Where no status is expected an answer other than 202 is the result.
            return answer.status == _ACCEPTED
        if settings.running:
            return _is_one_of(status, settings.running)
        # A word of its own, such as `ready`: who answered 202 until now means it is done.
        return answer.status == _ACCEPTED or not was_accepted

    async def _failed(self, answer: Answer, status: str) -> ToolResult | None:
        settings = self._settings
        if _is_one_of(status, settings.success) or (not status and not settings.status_pointer):
            return None
        is_failure = _is_one_of(status, settings.failure)
        if status and not is_failure and not settings.running:
            return None  # done, in a word of its own
        text = (await result_within(answer, self._mask)).text
        if is_failure:
            return ToolResult.of_text(f"The job ended as {status}.\n{text}", is_error=True)
        shown = masked_and_cut(status, self._mask)
        what = f"a status that is not expected, {shown!r}" if status else "no status"
        return ToolResult.of_text(f"The job has {what}.\n{text}", is_error=True)

    async def _tell(self, answer: Answer, status: str, on_progress: OnProgress) -> None:
        done = at(_json(answer), self._settings.progress_pointer)
        if isinstance(done, bool) or not isinstance(done, int | float) or not math.isfinite(done):
            done = 0
        # A share, or a percentage.
        total = (1.0 if done <= 1 else 100.0) if done else None
        await on_progress(float(done), total, masked_and_cut(status, self._mask))

    async def _read(self, job: Job, answer: Answer) -> ToolResult:
        """The result: a part of the last answer, or what is at another address."""
        settings = self._settings
        value = at(_json(answer), settings.result_pointer) if settings.result_pointer else None
        if settings.result_url:
            holes = {"job": job.id, "url": job.url, "result": _word(value)}
            url = _filled(settings.result_url, self._base_url, **holes)
            self._check_host(url)
            return await result_within(await self._ask("GET", url), self._mask)
        whole = await result_within(answer, self._mask)
        if not settings.result_pointer:
            return whole
        if value is _MISSING:
            text = f"The job is done, and has nothing at {settings.result_pointer}."
            return ToolResult.of_text(f"{text}\n{whole.text}")
        text = value if isinstance(value, str) else json.dumps(value)
        return ToolResult((TextPart(text),), structured=value)

    async def _cancel(self, job: Job) -> None:
        """Only where an operator says how: deleting a job may delete what it has made."""
        settings = self._settings
        if not settings.cancel_url:
            return
        url = _filled(settings.cancel_url, self._base_url, job=job.id, url=job.url)
        with anyio.move_on_after(_CANCEL_SECONDS, shield=True):
            try:
                self._check_host(url)
                await self._ask(settings.cancel_method, url)
            except XaiMcpError as cause:  # whoever cancelled or waited too long is told of that
                logger.warning("%s: its job could not be cancelled: %s", self._name, cause)

    def _check_host(self, url: str) -> None:
        """Refuse an address that the service has no business to send us to.

        Raises:
            Misdirected: it is at another host, and not one that an operator allows.
        """
        parts, base = urlsplit(url), urlsplit(self._base_url)
        if not parts.username and origin_of(url) == origin_of(self._base_url):
            return
        is_safe = parts.scheme == "https" or parts.scheme == base.scheme
        if is_safe and {parts.hostname, parts.netloc} & set(self._settings.hosts):
            return
        shown = masked_and_cut(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", self._mask)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Misdirected(
                self._name, f"its job is at {shown}, which is no address of the web.",
                "Ask who runs the service, or name the address as `pollUrl` under `async`.",
            )  # fmt: skip
        raise Misdirected(
            self._name, f"its job is at another host, {shown}, which is not asked.",
            f"If that is right, add {parts.hostname!r} to `hosts` under `async` of the operation.",
        )  # fmt: skip


def at(value: Any, pointer: str) -> Any:
    """What a JSON pointer (RFC 6901) leads to; `_MISSING` where that is nothing."""
    for step in pointer.split("/")[1:]:
        value = _member(value, step.replace("~1", "/").replace("~0", "~"))
    return value


def _member(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return cast(dict[str, Any], value).get(key, _MISSING)
    items = cast(list[Any], value) if isinstance(value, list) else []
    return items[int(key)] if _INDEX.fullmatch(key) and int(key) < len(items) else _MISSING


def _told(answer: Answer, settings: AsyncSettings) -> str:
    """What the first answer says of where the job is."""
    if settings.job_pointer:
        found = at(_json(answer), settings.job_pointer)
        return _word(found) if isinstance(found, str | int) else ""
    names = (settings.job_header.lower(),) if settings.job_header else _HEADERS
    return next((x for name in names if (x := answer.headers.get(name, "").strip())), "")


def _filled(template: str, base_url: str, **holes: str) -> str:
    """An address with its holes filled; a path is added to the base URL."""

    def fill(hole: re.Match[str]) -> str:
        text = holes.get(hole[1], "")
        is_whole = hole[1] == "url" or hole[0] == template
        return text if is_whole else quote(text, safe="")

    url = _HOLE.sub(fill, template)
    return urljoin(base_url, url) if "://" in url else base_url.rstrip("/") + "/" + url.lstrip("/")


def _pause(answer: Answer, usual: float) -> float:
    """How long to wait before the next question; the service's own word counts."""
    told = answer.headers.get("retry-after", "").strip()
    if not told:
        return usual
    try:
        seconds = float(told) if told[0].isdigit() else _seconds_until(told)
    except (ValueError, TypeError):
        return usual
    return max(seconds, _MIN_PAUSE_SECONDS) if math.isfinite(seconds) else usual


def _longest_pause() -> float:
    return max(
        _IN_TIME * (anyio.current_effective_deadline() - anyio.current_time()), _MIN_PAUSE_SECONDS
    )


def _seconds_until(date: str) -> float:
    return (parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds()


def _json(answer: Answer) -> Mapping[str, Any] | list[Any] | None:
    """The status of a job is short; what is not is no status."""
    try:
        return json.loads(answer.body) if len(answer.body) <= _MAX_STATUS_BYTES else None
    except (ValueError, RecursionError):
        return None


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value) if value is not _MISSING else ""


def _is_one_of(status: str, values: tuple[str, ...]) -> bool:
    return bool(status) and status.casefold() in {x.casefold() for x in values}
