"""One live connection to one server, from start to end."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

import anyio

from ...core.calls import Host, ToolInvocation, remaining_seconds
from ...core.errors import ServerError
from ...core.events import (
    LISTS,
    InventoryChanged,
    Observer,
    SourceConnected,
    SourceUnreachable,
)
from ...core.json import JsonObject
from ...core.results import ToolResult
from ...core.schema_check import ArgumentChecks
from ...core.visible import visible_text
from ..progress import ProgressListener
from .auth.token_store import can_be_signed_in_to
from .connection import Connection
from .convert import result_of
from .failures import Failures, WrongEra
from .health import PROBE_SECONDS
from .listing import Listings
from .requests import McpRequest, Requests
from .sdk import our_name
from .stdio import stdio_streams
from .subscriptions import Subscriptions, UpdateListeners, keep_listening

if TYPE_CHECKING:
    from anyio.abc import TaskGroup, TaskStatus
    from mcp_types import RequestParamsMeta

    from .client_features import ClientFeatures
    from .dispatcher import ServerClient


logger = logging.getLogger(__name__)

# When a server refuses one request, requests that it already has may still be answered.
_DRAIN_SECONDS = 1.0
# Ending a session over HTTP is a request, which may go unanswered; a process has its own limits.
_LEAVE_SECONDS = 1.0
_NAME_CHARS = 200  # of a server's name


class McpSession:
    """One live session. The task that runs `serve` opens and closes it; others only call in."""

    _features: ClientFeatures  # made with the client, once the SDK is loaded

    def __init__(
        self,
        connection: Connection,
        mode: str,
        failures: Failures,
        observer: Observer,
        host: Host,
        updates: UpdateListeners,
    ) -> None:
        self.connection = connection
        self.phase = "starting"
        self.was_ready = False
        self.requests = Requests(connection, failures, host)
        self.subscriptions = Subscriptions(connection, self.requests, updates)
        self.listings = Listings(connection, self.requests, self._report)
        self._mode = mode
        self._observer = observer
        self._updates = updates
        self._checks = ArgumentChecks()
        self._attempt: anyio.CancelScope | None = None

    @property
    def era(self) -> str:
        """Protocol version agreed on; empty before that."""
        client = self.requests.client
        return str(client.protocol_version) if client else ""

    @property
    def server(self) -> str:
        """The server's own name and version."""
        client = self.requests.client
        info = client.server_info if client else None
        title = f"{info.title or info.name} {info.version}" if info else ""
        return " ".join(visible_text(title, _NAME_CHARS).split())

    async def serve(self, seconds: float, on_ready: Callable[[], None]) -> None:
        """Connect and list within `seconds`, then stay until `close` or the connection ends.

        Raises:
            BaseException: any failure before it was ready; see `Failures.at_start`.
        """
        with self.connection.clocks.limit(seconds) as limit:
            self._attempt = limit
            async with (
                self._new_client() as self.requests.client,
                anyio.create_task_group() as tasks,
            ):
                await self._begin(tasks, limit)
                self.was_ready = True
                self.connection.in_a_hurry = False
                on_ready()
                await self.connection.health.ended.wait()
                is_http = self.connection.settings.transport == "http"
                if is_http and not self.connection.closed_on_purpose:
                    # Requests may still be answered: each has its own connection.
                    await self.requests.drain(_DRAIN_SECONDS)
                tasks.cancel_scope.cancel()
                limit.deadline = anyio.current_time() + _LEAVE_SECONDS

    def _report(self, event: InventoryChanged | SourceUnreachable) -> None:
        """Report a listing or its failure; before the session is ready, only the first listing."""
        if not self.was_ready:
            if isinstance(event, SourceUnreachable):
                return
            settings = self.connection.settings
            self._observer.notice(
                SourceConnected(settings.name, settings.transport, self.era, title=self.server)
            )
        self._observer.notice(event)

    def close(self) -> None:
        """Ask the serving task to leave; cancel a session that is not ready yet."""
        self.connection.closed_on_purpose = True
        self.connection.health.end()
        if self._attempt and not self.was_ready:
            self._attempt.cancel()

    async def call(self, invocation: ToolInvocation, started: float) -> ToolResult:
        """Call a tool; on timeout or cancellation, tell the server to stop.

        The call's limit counts from `started`.
        """
        client, features = self.requests.require_client(), self._features
        tool, limit = invocation.tool.key.name, invocation.timeout_seconds
        seconds = self.connection.settings.call_timeout_seconds
        if limit is not None:
            seconds = remaining_seconds(limit, monotonic() - started)
        hints = invocation.tool.annotations
        may_go_twice = bool(hints.read_only or hints.idempotent)
        request = McpRequest(invocation.caller, may_ask=True, may_go_twice=may_go_twice)
        # Without a listener the SDK requests no progress.
        listener = invocation.on_progress
        on_progress = ProgressListener(listener, request.notes).report if listener else None
        # A copy, because the SDK adds to it.
        meta = cast("RequestParamsMeta", dict(invocation.meta)) if invocation.meta else None

        async def send() -> None:
            if invocation.check is not None:
                invocation.check()  # here: the server may have changed, or time run out
            if features.roots.last_folders:
                await features.roots.notify_of_changes(client)
            try:
                # No limit in the SDK, because it would run out while the server waits for a person.
                await client.call_tool(tool, invocation.arguments, None, on_progress, meta=meta)
            except Exception as refusal:
                await features.elicitation.open_pages(refusal)
                raise

        await self.requests.send(f"the call of {tool!r}", send, request, seconds)
        result = result_of(request.answer, request.notes)
        key, schema = invocation.tool.key, invocation.tool.output_schema
        if schema is None or result.is_error:
            return result
        problems = self._checks.problems(key, schema, result.structured)
        if not problems:
            return result
        note = f"The result does not match the tool's output schema: {'; '.join(problems)}"
        return replace(result, notes=(*result.notes, note))

    def _new_client(self) -> ServerClient:
        # Imported here, because the SDK takes more than a second; the source loaded it in a thread.
        from .client_features import ClientFeatures
        from .dispatcher import ServerClient

        self.phase = "shaking hands"
        requests, connection = self.requests, self.connection
        self._features = ClientFeatures(connection, requests)
        return ServerClient(
            self._transport(),
            connection,
            self._notice,
            # Also if only one era is allowed: else the SDK would not request the server's name and
            # capabilities.
            mode="legacy" if self._mode == "legacy" else "auto",
            client_info=our_name(),
            **self._features.callbacks(),
        )

    def _transport(self) -> Any:
        """Return a new transport for the SDK's client; each one can be entered once."""
        connection, settings = self.connection, self.connection.settings
        if connection.process is not None:
            return stdio_streams(connection.process, connection.stderr)
        # Imported here, because their libraries are heavy; the SDK is loaded by now.
        from .auth.provider import ServerAuth
        from .http import http_streams

        if connection.access is None or not can_be_signed_in_to(settings):
            return http_streams(connection, None)

        # The host that asks for the sign-in waits for the server, or has a request under way.
        def hosts() -> list[Host]:
            return [*connection.hosts(), *self.requests.hosts()]

        auth = ServerAuth(settings, connection.access, connection.clocks.pause, hosts)
        return http_streams(connection, auth)

    async def _begin(self, tasks: TaskGroup, limit: anyio.CancelScope) -> None:
        """Start watching for changes and list the tools, after the handshake."""
        if self._mode not in ("auto", "legacy", self.era):
            raise WrongEra(self.era, self._mode)
        self.phase = "listing its tools"
        # Watch first, then list: a change in between is not lost.
        await tasks.start(self._listen)
        tasks.start_soon(self._features.log.request_level, self.requests.require_client())
        await self.listings.fetch_tools()
        limit.deadline = float("inf")  # other lists have their own limit
        await self.listings.refresh(lists=set(LISTS) - {"tools"})
        tasks.start_soon(self.listings.relist)
        await tasks.start(self.subscriptions.serve)
        self.connection.health.serve(tasks, self._probe)

    async def _probe(self) -> None:
        """Ping the server, then list again, because a change notice may have been lost."""
        with suppress(ServerError):  # an error is an answer, too
            await self.requests.ping(PROBE_SECONDS)
        for name in LISTS:
            self.listings.notice(name)

    async def _listen(self, *, task_status: TaskStatus[None]) -> None:
        """Keep a stream for changes open if the server has one, and report when it first opens."""
        client = self.requests.require_client()
        capabilities = client.server_capabilities
        lists = {
            "tools_list_changed": True,
            "prompts_list_changed": capabilities.prompts is not None,
            "resources_list_changed": capabilities.resources is not None,
        }
        await keep_listening(
            client,
            lists,
            opened=lambda _: task_status.started(),
            missed=self._on_missed_changes,
            on_lost=self.connection.health.doubt,
        )
        task_status.started()  # it returned, so the server has no such stream

    def _on_list_changed(self, name: str) -> None:
        self.listings.notice(name)
        self._updates.notice(name)

    def _on_missed_changes(self) -> None:
        for name in LISTS:
            self._on_list_changed(name)

    def _notice(self, method: str, params: JsonObject) -> None:
        """Handle a notification. Servers may send thousands, so it must be quick."""
        match method.split("/"):
            case ["notifications", "tools" | "prompts" | "resources" as name, "list_changed"]:
                self._on_list_changed(name)
            case ["notifications", "resources", "updated"]:
                self._updates.notice(str(params.get("uri")))
            case ["notifications", "message"]:
                self._features.log.take(params)
            case _:
                pass
