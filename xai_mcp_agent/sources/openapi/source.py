"""An OpenAPI service as a source: its document is read, its operations are called."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import anyio.to_thread

from ...core.calls import ToolInvocation, left_of
from ...core.errors import UnknownTool
from ...core.events import Inventory, Observer
from ...core.places import OutOfPlace
from ...core.results import ResourcePart, ToolResult
from ...core.tools import OPENAPI
from ...settings.openapi import OpenApiSettings
from ..reading import ReadSource
from .calls.calls import ServiceAccess, ServiceCalls
from .calls.client import ServiceClient
from .calls.kept import with_files
from .places import misplaced, places_for
from .reader import DocumentReader, Offer


class OpenApiSource(ReadSource[Offer]):
    """A `Source` over one service. Nothing is sent to it before an operation is called."""

    kind = OPENAPI

    def __init__(self, settings: OpenApiSettings, mask: Callable[[str], str]) -> None:
        super().__init__(settings, mask)
        self._settings = settings
        self.is_remote = settings.is_remote
        self._reader = DocumentReader(settings, mask)
        self._client = ServiceClient(settings.name, mask, max_bytes=settings.max_answer_bytes)
        self._calls = ServiceCalls(self._client, _access(settings))

    async def own(self, observer: Observer) -> None:
        """Read the document, and stay until stopped. Run by exactly one task."""
        try:
            await super().own(observer)
        finally:
            await self._client.close()
            await self._reader.close()

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one operation; see `Source.call`.

        Raises:
            UnknownTool: the document does not have it any more.
            CredentialsMissing: the settings have none that it takes.
        """
        started, given = anyio.current_time(), invocation.timeout_seconds
        offer = await self._ready_within(given or self._settings.call_timeout_seconds)
        name = invocation.tool.name
        operation = offer.operations.get(name)
        if operation is None:
            raise UnknownTool(f"{self.name} has no operation {name!r} any more.")
        base_url = operation.plan.base_url
        try:
            result = await self._calls.call(
                operation.plan,
                invocation.arguments,
                self._settings.operations.get(name),
                timeout_seconds=given and left_of(given, anyio.current_time() - started),
                on_progress=invocation.on_progress,
                check=invocation.check,
                places=places_for(self._settings, base_url, self._reader.document_place),
            )
        except OutOfPlace as cause:
            why = f"which is {cause.place}, where the document is not"
            raise misplaced(self._settings, base_url, why) from None
        if not any(isinstance(x, ResourcePart) for x in result.parts):
            return result
        return await anyio.to_thread.run_sync(with_files, result, self.name, abandon_on_cancel=True)

    async def _stamp(self) -> object:
        return await self._reader.stamp()

    async def _read(self) -> Offer:
        return await self._reader.read(self._last.value if self._last else None)

    def _title(self) -> str:
        return self._last.value.title if self._last else ""

    def _inventory_of(self, value: Offer) -> Inventory:
        return value.inventory


def _access(settings: OpenApiSettings) -> ServiceAccess:
    return ServiceAccess(
        base_url=settings.base_url.rstrip("/"),
        headers=settings.headers,
        credentials=settings.auth,
        secrets=settings.secrets,
        timeout_seconds=settings.call_timeout_seconds,
    )
