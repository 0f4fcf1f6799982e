"""An OpenAPI service as a source: reads its document and calls its operations.

The document is a file or a URL, and is read again only if it may have changed.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio

from ...core.calls import ToolInvocation, remaining_seconds
from ...core.errors import BadSetting, SourceClosed, SourceError, SourceFailed, UnknownTool
from ...core.events import Inventory, Observer
from ...core.patterns import unmatched_patterns
from ...core.places import INTERNET, OutOfPlace
from ...core.results import ToolResult
from ...core.tools import OPENAPI
from ...secrets.secrets import Mask
from ...settings.openapi import OpenApiSettings
from ..choice import choose
from ..reading import ReadSource, file_stamp
from ..threads import run_in_thread
from ..web.origins import is_same_host, origin_of
from .document import MAX_BYTES, BadDocument, Document, Read, files_beside, path_of, read_document
from .operations import Operation, Problem, convert
from .templates import check_templates

if TYPE_CHECKING:
    from .client import ServiceClient, ServiceResponse
    from .jobs import ServiceCalls

T = TypeVar("T")

_CHECK_SERVER = "Check its server."
_MAX_NOTES = 20  # of each kind, in the status
_MEDIA_TYPES = "application/json, application/yaml, */*;q=0.8"


@dataclass(frozen=True)
class DocumentOffer:
    """The content of a document; `inventory` is the choice that the settings make.

    `parts` are the URIs of the files that it refers to, each with its stamp from before it was
    read.
    """

    title: str
    operations: Mapping[str, Operation]
    inventory: Inventory
    digest: bytes
    parts: Mapping[str, object]

    def is_of(self, data: bytes) -> bool:
        """Return whether the document is the same and its parts are unchanged."""
        is_same = self.digest == sha256(data).digest()
        return is_same and all(_stamp(x) == stamp for x, stamp in self.parts.items())


class OpenApiSource(ReadSource[DocumentOffer]):
    """A `Source` over one service. It sends nothing to the service before the first call."""

    kind = OPENAPI

    def __init__(self, settings: OpenApiSettings, mask: Mask) -> None:
        super().__init__(settings, mask)
        self._settings = settings
        self.is_remote = settings.is_remote
        self._reader = DocumentReader(settings, mask)
        self._calls: ServiceCalls | None = None

    async def own(self, observer: Observer) -> None:
        """Read the document, and stay until stopped. Run by exactly one task."""
        try:
            await super().own(observer)
        finally:
            for client in (self._calls, self._reader):
                if client is not None:
                    await client.close()

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one operation; see `Source.call`.

        Raises:
            UnknownTool: the document no longer has it.
            CredentialsMissing: the settings have no credentials that it accepts.
        """
        # At the first call: their libraries are heavy.
        from .jobs import ServiceCalls
        from .results import with_files

        started, timeout = anyio.current_time(), invocation.timeout_seconds
        offer = await self._ready_within(timeout or self._settings.call_timeout_seconds)
        name = invocation.tool.name
        operation = offer.operations.get(name)
        if operation is None:
            raise UnknownTool(f"{self.name} has no operation {name!r} any more.")
        base_url = operation.plan.base_url
        self._calls = self._calls or ServiceCalls(self._settings, self._mask)
        try:
            result = await self._calls.call(
                operation.plan,
                invocation.arguments,
                self._settings.operations.get(name),
                timeout_seconds=timeout
                and remaining_seconds(timeout, anyio.current_time() - started),
                on_progress=invocation.on_progress,
                check=invocation.check,
                places=self._places(base_url),
            )
        except OutOfPlace as cause:
            why = f"which is {cause.place}, where the document is not"
            raise self._misdirection(base_url, why) from None
        return await with_files(result, self.name)

    def _places(self, base_url: str) -> frozenset[str] | None:
        """Return the places where the document's server may be, or None for anywhere.

        A document from the internet must not name a server in our own network. Anywhere is allowed
        if a person named the server, with `baseUrl` or in a file.

        Raises:
            SourceFailed: credentials would go to another host than the document's.
        """
        settings = self._settings
        if settings.base_url or not settings.is_remote or not base_url:
            return None
        is_elsewhere = origin_of(base_url) != origin_of(settings.spec)
        if is_elsewhere and (settings.auth or settings.headers):
            raise self._misdirection(base_url, "credentials go there only if a person says so")
        return frozenset((INTERNET, self._reader.document_place))

    def _misdirection(self, base_url: str, why: str) -> SourceFailed:
        """Return the error for a server that the document names but we do not call."""
        server, host = "://".join(origin_of(base_url)), origin_of(self._settings.spec)[1]
        return SourceFailed(
            self.name,
            f"its document is at {host} and names the server {server}: {why}.",
            f'If that is right, add "baseUrl" with the address of the service, such as {server}.',
        )

    async def _stamp(self) -> object:
        return await self._reader.stamp()

    async def _read(self) -> DocumentOffer:
        return await self._reader.read()

    def _title(self) -> str:
        return self._last.value.title if self._last else ""

    def _inventory_of(self, value: DocumentOffer) -> Inventory:
        return value.inventory


class DocumentReader:
    """Reader of one service's document, in threads: a large one takes a second to convert."""

    def __init__(self, settings: OpenApiSettings, mask: Mask) -> None:
        self._settings = settings
        self._mask = mask
        self._client: ServiceClient | None = None
        self._last: DocumentOffer | None = None
        self.document_place = INTERNET
        """The place that a document from a URL came from (core/places.py)."""

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    async def stamp(self) -> object:
        """Return a value that changes when one of the files is saved; None for a URL.

        Raises:
            SourceFailed: the disk does not answer.
        """
        if self._settings.is_remote:
            return None
        # New parts are read once more, as they may have changed before we watched them.
        parts = self._last.parts if self._last else ()
        files = [self._settings.spec, *(str(path_of(x)) for x in parts)]
        try:
            return await self._in_thread(lambda: tuple(map(file_stamp, files)))
        except TimeoutError as cause:
            raise self._too_slow("Check that its disk responds.") from cause

    async def read(self) -> DocumentOffer:
        """Return the current offer, which is the last one if the document has not changed.

        Raises:
            SourceFailed: it cannot be read; says why, and what to do.
        """
        try:
            with anyio.fail_after(self._settings.start_timeout_seconds):
                is_remote = self._settings.is_remote
                self._last = await (self._fetch() if is_remote else self._in_thread(self._open))
        except TimeoutError as cause:
            raise self._too_slow("Raise `startTimeout`, or keep a copy in a file.") from cause
        except BadDocument as cause:
            fix = "Correct `spec`, or check it with `xai-mcp-agent tools list`."
            raise self._failure(str(cause), fix) from None
        return self._last

    def _open(self) -> DocumentOffer:
        file = Path(self._settings.spec)
        return self._convert(read_document(file), file.as_uri(), files_beside(file))

    async def _fetch(self) -> DocumentOffer:
        url = self._settings.spec
        response = await self._get(url)
        self.document_place = response.place
        # RFC 3986, 5.1.3: parts are relative to the final address. If that is at another host, they
        # stay relative to `spec`: only files of the host in the settings are read.
        address = response.url if is_same_host(url, response.url) else url
        is_over = threading.Event()
        fetch = self._fetch_from_thread(asyncio.get_running_loop(), is_over)
        try:
            return await self._in_thread(lambda: self._convert(response.body, address, fetch))
        finally:
            is_over.set()

    async def _get(self, url: str, *, leaves_host: bool = True) -> ServiceResponse:
        import httpx2  # here, because importing it is slow and a document may be a file

        from .client import ResponseTooLarge, ServiceClient

        settings = self._settings
        headers = {"Accept": _MEDIA_TYPES}
        if not settings.base_url or origin_of(settings.base_url) == origin_of(settings.spec):
            headers |= settings.headers  # the headers are meant for the service
        self._client = self._client or ServiceClient(
            settings.name, self._mask, max_bytes=MAX_BYTES, key="spec"
        )
        try:
            request = httpx2.Request("GET", url, headers=headers)
            response = await self._client.send(request, leaves_host=leaves_host)
        except (SourceClosed, ResponseTooLarge) as cause:
            problem = f"its document was not read: {cause.problem}"
            raise self._failure(problem, _CHECK_SERVER) from cause
        if response.status < 300:
            return response
        problem = (
            f"its document is not at {response.url}: HTTP {response.status} {response.reason}."
        )
        fix = "Correct `spec`, or `headers` if it wants credentials."
        raise self._failure(problem, _CHECK_SERVER if response.status >= 500 else fix)

    def _fetch_from_thread(self, loop: asyncio.AbstractEventLoop, is_over: threading.Event) -> Read:
        async def get(uri: str) -> bytes:
            return (await self._get(uri, leaves_host=False)).body

        def fetch(uri: str) -> bytes:
            if is_over.is_set():  # a thread cannot be stopped, but it sends no more requests
                raise OSError("the caller has stopped waiting")
            future = asyncio.run_coroutine_threadsafe(get(uri), loop)
            try:
                return future.result(self._settings.start_timeout_seconds)
            except SourceError as cause:
                raise OSError(cause.problem) from None

        return fetch

    def _convert(self, data: bytes, uri: str, read: Read) -> DocumentOffer:
        if self._last is not None and self._last.is_of(data):
            return self._last
        return _offer(self._settings, data, uri, read)

    async def _in_thread(self, do: Callable[[], T]) -> T:
        """Run a function in a thread that may be abandoned: disks hang."""
        name, limit = self._settings.name, self._settings.start_timeout_seconds
        return await run_in_thread(name, do, limit)

    def _too_slow(self, next_step: str) -> SourceFailed:
        limit = self._settings.start_timeout_seconds
        return self._failure(f"its document was not read within {limit:g} s.", next_step)

    def _failure(self, problem: str, next_step: str) -> SourceFailed:
        return SourceFailed(self._settings.name, problem, next_step)


def _offer(settings: OpenApiSettings, data: bytes, uri: str, read: Read) -> DocumentOffer:
    """Return the offer of a document and all files that it refers to."""
    parts: dict[str, object] = {}

    def read_part(uri: str) -> bytes:
        parts[uri] = _stamp(uri)
        return read(uri)

    document = Document(data, uri, read_part, settings.spec)
    conversion = convert(document, settings.name, settings.base_url.rstrip("/") or None)
    operations = {x.name: x for x in conversion.operations}
    title = f"{document.title} {document.version}".strip()
    inventory = _inventory_of(settings, operations, conversion.problems)
    return DocumentOffer(title, operations, inventory, sha256(data).digest(), parts)


def _stamp(uri: str) -> object:
    """Return a value that changes with a file; a new value each time for a URL."""
    return file_stamp(str(path_of(uri))) if uri.startswith("file:") else object()


def _inventory_of(
    settings: OpenApiSettings,
    operations: Mapping[str, Operation],
    problems: tuple[Problem, ...],
) -> Inventory:
    """Return the inventory that these settings make of the operations."""
    choice = choose(operations, settings, "which the document does not have")
    unknown = [f"`operations` names {x!r}, which the document does not have."
               for x in unmatched_patterns(settings.operations, operations)]  # fmt: skip
    notes = (
        *_first((f"no tool: {x}" for x in problems), "operations are not tools"),
        *_first((*choice.notes, *unknown), "names are not in the document"),
        *_template_notes(settings),
    )
    tools = tuple(operations[x].tool for x in choice.names)
    return Inventory(settings.name, tools, notes=notes, disabled=choice.disabled)


def _first(notes: Iterable[str], others: str) -> Iterator[str]:
    """Yield the first notes, and how many more there are."""
    several = iter(notes)
    yield from islice(several, _MAX_NOTES)
    if more := sum(1 for _ in several):
        yield f"and {more:,} more {others}."


def _template_notes(settings: OpenApiSettings) -> Iterator[str]:
    """Yield the mistakes in templates of the settings; calls of those operations are refused."""
    for name, operation in settings.operations.items():
        try:
            check_templates(operation)
        except BadSetting as wrong:
            yield f"`operations`, at {name}: {wrong}"
