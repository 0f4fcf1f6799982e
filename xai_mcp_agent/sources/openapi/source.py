"""An OpenAPI service as a source: its document is read, its operations are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from ...core.calls import ToolInvocation, left_of
from ...core.errors import SourceFailed, UnknownTool
from ...core.events import Inventory, Observer
from ...core.places import INTERNET, OutOfPlace
from ...core.results import ToolResult
from ...core.tools import OPENAPI
from ...secrets.secrets import Mask
from ...settings.openapi import OpenApiSettings
from ..reading import ReadSource
from ..web.origins import origin_of
from .reader import DocumentReader, Offer

if TYPE_CHECKING:
    from .calls import ServiceCalls


class OpenApiSource(ReadSource[Offer]):
    """A `Source` over one service. Nothing is sent to it before an operation is called."""

    kind = OPENAPI

    def __init__(self, settings: OpenApiSettings, mask: Mask) -> None:
        super().__init__(settings, mask)
        self._settings = settings
        self.is_remote = settings.is_remote
        self._reader = DocumentReader(settings, mask)
        self._opened: ServiceCalls | None = None

    async def own(self, observer: Observer) -> None:
        """Read the document, and stay until stopped. Run by exactly one task."""
        try:
            await super().own(observer)
        finally:
            if self._opened is not None:
                await self._opened.close()
            await self._reader.close()

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one operation; see `Source.call`.

        Raises:
            UnknownTool: the document does not have it any more.
            CredentialsMissing: the settings have none that it takes.
        """
        from .results import with_files  # with the first call; see `calls`

        started, timeout = anyio.current_time(), invocation.timeout_seconds
        offer = await self._ready_within(timeout or self._settings.call_timeout_seconds)
        name = invocation.tool.name
        operation = offer.operations.get(name)
        if operation is None:
            raise UnknownTool(f"{self.name} has no operation {name!r} any more.")
        base_url = operation.plan.base_url
        try:
            result = await self._calls().call(
                operation.plan,
                invocation.arguments,
                self._settings.operations.get(name),
                timeout_seconds=timeout and left_of(timeout, anyio.current_time() - started),
                on_progress=invocation.on_progress,
                check=invocation.check,
                places=self._places(base_url),
            )
        except OutOfPlace as cause:
            why = f"which is {cause.place}, where the document is not"
            raise self._misplaced(base_url, why) from None
        return await with_files(result, self.name)

    def _calls(self) -> ServiceCalls:
        from .calls import ServiceCalls

        if self._opened is None:
            self._opened = ServiceCalls(self._settings, self._mask)
        return self._opened

    def _places(self, base_url: str) -> frozenset[str] | None:
        """Return where the server that a document names may be: what came from the internet
        names no servers in our own network.

        None: anywhere, because a person named it, with `baseUrl` or in a file.

        Raises:
            SourceFailed: credentials would go to another host than that of the document.
        """
        settings = self._settings
        if settings.base_url or not settings.is_remote or not base_url:
            return None
        is_elsewhere = origin_of(base_url) != origin_of(settings.spec)
        if is_elsewhere and (settings.auth or settings.headers):
            raise self._misplaced(base_url, "credentials go there only if a person says so")
        return frozenset((INTERNET, self._reader.document_place))

    def _misplaced(self, base_url: str, why: str) -> SourceFailed:
        """Return the error for a server that a document names and that is not called."""
        server, host = "://".join(origin_of(base_url)), origin_of(self._settings.spec)[1]
        return SourceFailed(
            self.name,
            f"its document is at {host} and names the server {server}: {why}.",
            f'If that is right, add "baseUrl" with the address of the service, such as {server}.',
        )

    async def _stamp(self) -> object:
        return await self._reader.stamp()

    async def _read(self) -> Offer:
        return await self._reader.read(self._last.value if self._last else None)

    def _title(self) -> str:
        return self._last.value.title if self._last else ""

    def _inventory_of(self, value: Offer) -> Inventory:
        return value.inventory
