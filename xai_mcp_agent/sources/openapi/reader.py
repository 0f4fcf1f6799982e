"""Reads a service's document: from a file or a URL, again only where it may have changed."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urljoin

import anyio

from ...core.errors import SourceClosed, SourceError, SourceFailed
from ...core.events import Inventory
from ...core.places import INTERNET
from ...settings.openapi import OpenApiSettings
from ..reading import file_stamp
from ..threads import Threads, TooManyLeft
from ..web.origins import is_same_host, origin_of
from .calls.client import Answer, ServiceClient, TooLarge
from .chosen import inventory_of
from .conversion.operations import Operation, convert
from .document.document import BadReference, Document, Folder, Place, Site, read_file
from .document.parsing import MAX_BYTES, BadDocument

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

_VALIDATORS = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
_NO_VALIDATORS: Mapping[str, str] = {}
_NOT_MODIFIED = 304
_REDIRECTS, _MOST_REDIRECTS = (301, 302, 303, 307, 308), 5
_MEDIA_TYPES = "application/json, application/yaml, */*;q=0.8"


@dataclass(frozen=True)
class Offer:
    """What a document offers, and by what to know whether it is still the same.

    `parts` are the keys of the files that it refers to, `digest` is over all of them, and
    `own_digest` over what the document itself says.
    `inventory` is what the settings choose of it.
    """

    title: str
    operations: Mapping[str, Operation]
    inventory: Inventory
    own_digest: bytes
    digest: bytes
    parts: tuple[str, ...] = ()


class DocumentReader:
    """Reads the document of one service, in threads: a large one takes a second to convert."""

    def __init__(self, settings: OpenApiSettings, mask: Callable[[str], str]) -> None:
        self._settings = settings
        self._name = settings.name
        self._threads = Threads(f"openapi {settings.name}")
        self._client = ServiceClient(settings.name, mask, max_bytes=MAX_BYTES, key="spec")
        self._validators: Mapping[str, str] = {}  # headers that ask whether it has changed
        self._parts: tuple[str, ...] = ()  # files
        self._stamp_of_parts: object = ()
        self._changes = 0  # of parts
        self.document_place = INTERNET
        """Where the document was got, if from a URL (core/places.py)."""

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()

    async def stamp(self) -> object:
        """What changes when somebody saves one of its files; None for a URL.

        Raises:
            SourceFailed: the disk does not answer.
        """
        if self._settings.is_remote:
            return None
        return await self._in_thread(self._stamp_now)

    def _stamp_now(self) -> object:
        stamp_of_parts = tuple(map(file_stamp, self._parts))
        if stamp_of_parts != self._stamp_of_parts:
            self._stamp_of_parts = stamp_of_parts
            self._changes += 1
        return file_stamp(self._settings.spec), self._changes

    async def read(self, before: Offer | None) -> Offer:
        """What it offers now; `before` itself, if the document says the same as then.

        Raises:
            SourceFailed: it cannot be read; says why, and what to do.
        """
        limit = self._settings.start_timeout_seconds
        try:
            with anyio.fail_after(limit):
                found = await (self._fetched if self._settings.is_remote else self._opened)(before)
        except TimeoutError as cause:
            problem = f"its document was not read within {limit:g} s."
            raise self._failed(
                problem, "Raise `startTimeout`, or keep a copy in a file."
            ) from cause
        if not self._settings.is_remote:
            self._watch(found.parts)
        return found

    def _watch(self, parts: tuple[str, ...]) -> None:
        # New ones are read once more, as one may have changed before it was watched.
        folder = os.path.dirname(self._settings.spec)
        self._parts = tuple(os.path.join(folder, x) for x in parts)

    async def _opened(self, before: Offer | None) -> Offer:
        file = Path(self._settings.spec)
        try:
            data = await self._in_thread(partial(read_file, file))
        except OSError as cause:
            problem = f"{file} cannot be read: {cause.strerror or cause}."
            raise self._failed(problem, "Correct `spec` in the settings.") from cause
        return await self._converted(data, partial(Folder, file), before)

    async def _fetched(self, before: Offer | None) -> Offer:
        url = self._settings.spec
        answer = await self._answer(url, self._validators if before else _NO_VALIDATORS)
        self.document_place = answer.place
        is_over = threading.Event()
        fetch = self._fetch_from_thread(asyncio.get_running_loop(), is_over)
        try:
            site = partial(Site, _found_at(url, answer), fetch)
            if answer.status == _NOT_MODIFIED and before is not None:
                # That the document is the same does not say that its parts are.
                if await self._in_thread(partial(_is_same, site, before)):
                    return before
                answer = await self._answer(url, _NO_VALIDATORS)
            found = await self._converted(answer.body, site, before)
        finally:
            is_over.set()
        self._validators = {
            header: answer.headers[x] for x, header in _VALIDATORS.items() if x in answer.headers
        }
        return found

    async def _part(self, url: str) -> bytes:
        """A file that the document refers to, wherever its own host has it."""
        for _ in range(_MOST_REDIRECTS + 1):
            answer = await self._asked(url, _NO_VALIDATORS, self._client.send_once)
            if answer.status not in _REDIRECTS or "location" not in answer.headers:
                return self._checked(answer).body
            following = urljoin(url, answer.headers["location"])
            if not is_same_host(url, following):
                raise OSError("it is redirected to another host")
            url = following
        raise OSError(f"it is redirected more than {_MOST_REDIRECTS} times")

    async def _answer(self, url: str, validators: Mapping[str, str]) -> Answer:
        return self._checked(await self._asked(url, validators, self._client.send))

    async def _asked(
        self,
        url: str,
        validators: Mapping[str, str],
        send: Callable[[httpx2.Request], Awaitable[Answer]],
    ) -> Answer:
        import httpx2  # here, because it takes a while and a document may be a file

        headers = {"Accept": _MEDIA_TYPES, **validators}
        if self._is_at_service:
            headers |= self._settings.headers
        try:
            return await send(httpx2.Request("GET", url, headers=headers))
        except TooLarge as cause:
            problem = f"its document is larger than {MAX_BYTES // 1024**2} MiB."
            raise self._failed(
                problem, "Give a document of the operations that you use."
            ) from cause
        except SourceClosed as cause:
            problem = f"its document was not read: {cause.problem}"
            raise self._failed(problem, "Look whether its server is well.") from cause

    def _checked(self, answer: Answer) -> Answer:
        if answer.status != _NOT_MODIFIED and not 200 <= answer.status < 300:
            problem = f"its document is not at {answer.url}: HTTP {answer.status} {answer.reason}."
            fix = "Correct `spec`, or `headers` if it wants credentials."
            if answer.status >= 500:
                problem = f"its document was not read: HTTP {answer.status} {answer.reason}."
                fix = "Look whether its server is well."
            raise self._failed(problem, fix)
        return answer

    @property
    def _is_at_service(self) -> bool:
        """Whether headers for the service may go to where the document is."""
        base = self._settings.base_url
        return not base or origin_of(base) == origin_of(self._settings.spec)

    def _fetch_from_thread(
        self, loop: asyncio.AbstractEventLoop, is_over: threading.Event
    ) -> Callable[[str], bytes]:
        def fetch(url: str) -> bytes:
            if is_over.is_set():  # a thread cannot be stopped, but it asks for nothing more
                raise OSError("nobody waits for it any more")
            asked = asyncio.run_coroutine_threadsafe(self._part(url), loop)
            try:
                return asked.result(self._settings.start_timeout_seconds)
            except SourceError as cause:
                raise OSError(cause.problem) from None

        return fetch

    async def _converted(
        self,
        data: bytes,
        place: Callable[[], Place],
        before: Offer | None,
    ) -> Offer:
        settings = self._settings
        convert = partial(_offer, settings, data, place, before)
        try:
            return await self._in_thread(convert)
        except BadDocument as cause:
            raise self._failed(str(cause), "Look at it with `xai-mcp-agent openapi`.") from None

    async def _in_thread(self, do: Callable[[], T]) -> T:
        """In a thread that may be left: disks hang."""
        limit = self._settings.start_timeout_seconds
        try:
            return await self._threads.run(do, limit)
        except TimeoutError as cause:
            problem = f"reading {self._settings.spec} did not end within {limit:g} s."
            raise self._failed(problem, "Look whether its disk answers.") from cause
        except TooManyLeft as cause:
            problem = "too many readings of its document have not ended yet."
            raise self._failed(problem, "Run the workflow again in a new process.") from cause

    def _failed(self, problem: str, next_step: str) -> SourceFailed:
        return SourceFailed(self._name, problem, next_step)


def _found_at(url: str, answer: Answer) -> str:
    """Where the document is: what it refers to is beside that (RFC 3986, 5.1.3).

    At another host it stays where the settings name it: that is whose files are read.
    """
    is_moved = answer.url.partition("//")[2] != _plain(url).partition("//")[2]
    is_safer = answer.url.startswith("https:") and not url.startswith("https:")
    return answer.url if (is_moved or is_safer) and is_same_host(url, answer.url) else url


def _plain(url: str) -> str:
    """As an answer has it."""
    import httpx2

    return str(httpx2.URL(url).copy_with(userinfo=b"", query=None, fragment=None))


class _Once:
    """A place of which each file is read once: for its digest, then for what it says."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._known: dict[str, bytes | OSError] = {}
        self.key = place.key
        self.joined = place.joined

    def read(self, key: str) -> bytes:
        """See `Place.read`."""
        if key not in self._known:
            try:
                self._known[key] = self._place.read(key)
            except OSError as cause:
                self._known[key] = cause
        found = self._known[key]
        if isinstance(found, OSError):
            raise found
        return found

    def digest(self, own: bytes, parts: tuple[str, ...]) -> bytes:
        """Of a document with this digest and all its parts; one that is not there counts, too."""
        digest = hashlib.sha256(own)
        for key in parts:
            try:
                digest.update(hashlib.sha256(self.read(key)).digest())
            except (OSError, BadReference):
                digest.update(key.encode())
        return digest.digest()


def _offer(
    settings: OpenApiSettings, data: bytes, place: Callable[[], Place], before: Offer | None
) -> Offer:
    """What a document offers, with all the files that it refers to."""
    files, own = _Once(place()), hashlib.sha256(data).digest()
    if before is not None and before.digest == files.digest(own, before.parts):
        return before
    document = Document.of(data, files, settings.spec)
    converted = convert(document, settings.name, settings.base_url.rstrip("/") or None)
    operations = {x.name: x for x in converted.operations}
    title = f"{document.title} {document.version}".strip()
    parts = document.parts
    inventory = inventory_of(settings, operations, converted.problems)
    return Offer(title, operations, inventory, own, files.digest(own, parts), parts)


def _is_same(place: Callable[[], Place], before: Offer) -> bool:
    """Whether all parts of a document are the same, where it is itself."""
    return _Once(place()).digest(before.own_digest, before.parts) == before.digest
